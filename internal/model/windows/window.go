package windows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Window is a span of time in which upgrades with a downtime are allowed. It repeats every week, or has a date. Parse
// creates windows; the zero value is never open.
type Window struct {
	// starts are the beginnings within a week, counted from Monday 00:00 UTC; empty for a window with a date.
	starts []time.Duration
	// length is the length of a weekly window: greater than zero, at most a day.
	length time.Duration
	// from and to are the beginning and end of a window with a date.
	from, to time.Time
}

// weekly returns the window that begins at a time of day on each of the given days and ends at the next occurrence of
// another time of day. The day is the local day in the offset of begin, so Saturday 01:00:00+02:00 is Friday 23:00 UTC.
func weekly(days []time.Weekday, begin, end time.Time) Window {
	w := Window{length: mod(sinceMidnight(end.UTC())-sinceMidnight(begin.UTC()), day)}
	w.length = cmp.Or(w.length, day)
	_, offset := begin.Zone()
	for _, d := range days {
		start := time.Duration(mondayFirst(d))*day + sinceMidnight(begin) - time.Duration(offset)*time.Second
		w.starts = append(w.starts, mod(start, week))
	}
	slices.Sort(w.starts)
	w.starts = slices.Compact(w.starts)
	return w
}

// dated returns the window between two instants.
func dated(from, to time.Time) Window { return Window{from: from.UTC(), to: to.UTC()} }

// String describes a window for people, in UTC.
func (w Window) String() string {
	if len(w.starts) == 0 {
		return w.from.Format(time.RFC3339) + " to " + w.to.Format(time.RFC3339)
	}
	days := lists.Map(w.starts, func(start time.Duration) string { return time.Weekday((int(start/day) + 1) % 7).String()[:3] })
	clock := func(d time.Duration) string { return time.Time{}.Add(mod(d, day)).Format("15:04:05Z") }
	return fmt.Sprintf("%s %s to %s", strings.Join(days, ","), clock(w.starts[0]), clock(w.starts[0]+w.length))
}

// sinceMidnight returns the time of day, in the offset of t.
func sinceMidnight(t time.Time) time.Duration {
	hour, minute, second := t.Clock()
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
}

// mondayFirst returns the number of a day in a week that begins with Monday, as the weeks of time.Truncate do.
func mondayFirst(d time.Weekday) int { return (int(d) + 6) % 7 }

// mod returns the remainder, which is never negative.
func mod(d, by time.Duration) time.Duration { return ((d % by) + by) % by }

// span is one occurrence of a window.
type span struct{ begin, end time.Time }

// earlier orders spans by their beginning, longer ones first.
func earlier(a, b span) int {
	return cmp.Or(a.begin.Compare(b.begin), b.end.Compare(a.end))
}

// around returns the occurrences of a window that matter at an instant: all that are ongoing, and the first future one,
// among others.
func (w Window) around(now time.Time) []span {
	if len(w.starts) == 0 {
		return []span{{w.from, w.to}}
	}
	monday := now.Truncate(week)
	var spans []span
	for shift := -week; shift <= week; shift += week {
		for _, start := range w.starts {
			begin := monday.Add(shift + start)
			spans = append(spans, span{begin, begin.Add(w.length)})
		}
	}
	return spans
}
