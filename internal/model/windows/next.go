package windows

import (
	"slices"
	"time"
)

// startSlack is the time that is given to begin with an upgrade: a window that is only just as long as the
// minimum counts as ongoing for this long, although less than the minimum remains then. Otherwise it could
// never be used: nobody checks at the very instant in which it begins, and the reconciles of a fleet are spread a little.
const startSlack = 2 * time.Minute

// Next returns the window that is ongoing at an instant, with begin <= now < end, or else the next one to
// begin, with now < begin; false when none remains. The results are in UTC.
//
// An ongoing window counts while at least minSize of it remains (docs/contract.md#maintenance-policy); of several the one
// that ends last is returned. Windows shorter than minSize are passed over: they would never be long enough
// once begun. Each window is judged by itself, also where another one adjoins.
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

// length is saturated at some 292 years.
func (s span) length() time.Duration { return s.end.Sub(s.begin) }
