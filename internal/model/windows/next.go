package windows

import (
	"slices"
	"time"
)

// startSlack is the time that an upgrade has to begin in a window that is just as long as the minimum. The window
// counts as ongoing for this long, although less than the minimum remains. Otherwise it could never be used: no
// reconcile runs in the very instant in which the window begins, because the reconciles of a fleet are spread a little.
const startSlack = 2 * time.Minute

// Next returns the ongoing window, with begin <= now < end, or else the next window, with now < begin. Found is false
// if no window remains. The results are in UTC.
//
// An ongoing window counts while at least minSize of it remains (docs/contract.md#maintenance-policy). If several are
// ongoing, Next returns the one that ends last. It skips windows shorter than minSize, because they would never be long
// enough. It considers each window by itself, even if another one follows without a gap.
func Next(windows []Window, now time.Time, minSize time.Duration) (begin, end time.Time, found bool) {
	now = now.UTC()
	var ongoing, later []span
	for _, w := range windows {
		for _, s := range w.around(now) {
			switch {
			case s.length() <= 0 || s.length() < minSize || !now.Before(s.end):
			case now.Before(s.begin):
				later = append(later, s)
			case s.end.Sub(now) >= min(minSize, s.length()-startSlack):
				ongoing = append(ongoing, s)
			}
		}
	}
	var chosen span
	switch {
	case len(ongoing) > 0:
		chosen = slices.MaxFunc(ongoing, func(a, b span) int { return a.end.Compare(b.end) })
	case len(later) > 0:
		chosen = slices.MinFunc(later, earlier)
	default:
		return time.Time{}, time.Time{}, false
	}
	return chosen.begin, chosen.end, true
}

// length returns the length of the span, at most about 292 years.
func (s span) length() time.Duration { return s.end.Sub(s.begin) }
