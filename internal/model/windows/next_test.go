package windows

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func at(t *testing.T, value string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, value)
	require.NoError(t, err)
	return parsed.UTC()
}

// 2026-03-02 is a Monday.
func TestTheOngoingOrNextWindow(t *testing.T) {
	const (
		saturdays = `{"days": ["Sat"], "begin": "20:00:00Z", "end": "23:00:00Z"}`
		midnight  = `{"days": ["Sat"], "begin": "22:00:00Z", "end": "02:00:00Z"}`
		weekEnd   = `{"days": ["Sun"], "begin": "22:00:00Z", "end": "02:00:00Z"}`
		whole     = `{"days": ["Wed"], "begin": "00:00:00Z", "end": "00:00:00Z"}`
		always    = `{"days": ["Mon","Tue","Wed","Thu","Fri","Sat","Sun"], "begin": "01:00:00Z", "end": "01:00:00Z"}`
		once      = `{"begin": "2026-03-07T20:00:00Z", "end": "2026-03-08T06:00:00Z"}`
		past      = `{"begin": "2026-02-07T20:00:00Z", "end": "2026-02-08T06:00:00Z"}`
		short     = `{"days": ["Sat"], "begin": "20:00:00Z", "end": "20:15:00Z"}`
		exact     = `{"days": ["Sat"], "begin": "20:00:00Z", "end": "20:20:00Z"}`
		almost    = `{"days": ["Sat"], "begin": "20:00:00Z", "end": "20:20:30Z"}`
		east      = `{"days": ["Mon"], "begin": "01:00:00+02:00", "end": "03:00:00+02:00"}`
		thursdays = `{"days": ["Tue","Thu"], "begin": "10:00:00Z", "end": "11:00:00Z"}`
		morning   = `{"days": ["Sat"], "begin": "20:00:00Z", "end": "08:00:00Z"}`
	)
	const none = ""
	cases := map[string]struct {
		windows    []string
		now        string
		begin, end string
	}{
		"before it, in the week":              {[]string{saturdays}, "2026-03-02T00:00:00Z", "2026-03-07T20:00:00Z", "2026-03-07T23:00:00Z"},
		"before it, on the day":               {[]string{saturdays}, "2026-03-07T19:59:59Z", "2026-03-07T20:00:00Z", "2026-03-07T23:00:00Z"},
		"just begun":                          {[]string{saturdays}, "2026-03-07T20:00:00Z", "2026-03-07T20:00:00Z", "2026-03-07T23:00:00Z"},
		"in the middle":                       {[]string{saturdays}, "2026-03-07T21:00:00Z", "2026-03-07T20:00:00Z", "2026-03-07T23:00:00Z"},
		"just the minimum is left":            {[]string{saturdays}, "2026-03-07T22:40:00Z", "2026-03-07T20:00:00Z", "2026-03-07T23:00:00Z"},
		"a moment less than the minimum":      {[]string{saturdays}, "2026-03-07T22:40:00.000000001Z", "2026-03-14T20:00:00Z", "2026-03-14T23:00:00Z"},
		"at its end":                          {[]string{saturdays}, "2026-03-07T23:00:00Z", "2026-03-14T20:00:00Z", "2026-03-14T23:00:00Z"},
		"after it":                            {[]string{saturdays}, "2026-03-08T12:00:00Z", "2026-03-14T20:00:00Z", "2026-03-14T23:00:00Z"},
		"an instant in another zone":          {[]string{saturdays}, "2026-03-08T01:00:00+05:00", "2026-03-07T20:00:00Z", "2026-03-07T23:00:00Z"},
		"across midnight, before it":          {[]string{midnight}, "2026-03-07T23:30:00Z", "2026-03-07T22:00:00Z", "2026-03-08T02:00:00Z"},
		"across midnight, after it":           {[]string{midnight}, "2026-03-08T01:30:00Z", "2026-03-07T22:00:00Z", "2026-03-08T02:00:00Z"},
		"across midnight, too little left":    {[]string{midnight}, "2026-03-08T01:50:00Z", "2026-03-14T22:00:00Z", "2026-03-15T02:00:00Z"},
		"no window begins on the next day":    {[]string{midnight}, "2026-03-08T22:30:00Z", "2026-03-14T22:00:00Z", "2026-03-15T02:00:00Z"},
		"across the week's end":               {[]string{weekEnd}, "2026-03-09T01:00:00Z", "2026-03-08T22:00:00Z", "2026-03-09T02:00:00Z"},
		"across the week's end, before":       {[]string{weekEnd}, "2026-03-08T23:00:00Z", "2026-03-08T22:00:00Z", "2026-03-09T02:00:00Z"},
		"on the week's first day, at its end": {[]string{weekEnd}, "2026-03-09T02:00:00Z", "2026-03-15T22:00:00Z", "2026-03-16T02:00:00Z"},
		"a whole day":                         {[]string{whole}, "2026-03-04T13:00:00Z", "2026-03-04T00:00:00Z", "2026-03-05T00:00:00Z"},
		"a whole day, just over":              {[]string{whole}, "2026-03-05T00:00:00Z", "2026-03-11T00:00:00Z", "2026-03-12T00:00:00Z"},
		"always":                              {[]string{always}, "2026-03-05T00:30:00Z", "2026-03-04T01:00:00Z", "2026-03-05T01:00:00Z"},
		"always, shortly before a day's end":  {[]string{always}, "2026-03-05T00:50:00Z", "2026-03-05T01:00:00Z", "2026-03-06T01:00:00Z"},
		"always, at a day's end":              {[]string{always}, "2026-03-05T01:00:00Z", "2026-03-05T01:00:00Z", "2026-03-06T01:00:00Z"},
		"the second of two days":              {[]string{thursdays}, "2026-03-03T11:00:00Z", "2026-03-05T10:00:00Z", "2026-03-05T11:00:00Z"},
		"the first day of the next week":      {[]string{thursdays}, "2026-03-05T10:45:00Z", "2026-03-10T10:00:00Z", "2026-03-10T11:00:00Z"},
		"an offset into the week before":      {[]string{east}, "2026-03-08T23:30:00Z", "2026-03-08T23:00:00Z", "2026-03-09T01:00:00Z"},
		"an offset, a week ahead":             {[]string{east}, "2026-03-09T01:00:00Z", "2026-03-15T23:00:00Z", "2026-03-16T01:00:00Z"},
		"across a year's end":                 {[]string{saturdays}, "2026-12-27T00:00:00Z", "2027-01-02T20:00:00Z", "2027-01-02T23:00:00Z"},
		"across a leap day":                   {[]string{whole}, "2028-02-28T00:00:00Z", "2028-03-01T00:00:00Z", "2028-03-02T00:00:00Z"},
		"a date in the future":                {[]string{once}, "2026-03-02T00:00:00Z", "2026-03-07T20:00:00Z", "2026-03-08T06:00:00Z"},
		"an ongoing date":                     {[]string{once}, "2026-03-08T05:40:00Z", "2026-03-07T20:00:00Z", "2026-03-08T06:00:00Z"},
		"a date with too little left":         {[]string{once}, "2026-03-08T05:41:00Z", none, none},
		"a date in the past":                  {[]string{past}, "2026-03-02T00:00:00Z", none, none},
		"no windows":                          {nil, "2026-03-02T00:00:00Z", none, none},
		"a date in the past does not hide":    {[]string{past, saturdays}, "2026-03-02T00:00:00Z", "2026-03-07T20:00:00Z", "2026-03-07T23:00:00Z"},
		"the earlier one wins, not the first": {[]string{saturdays, thursdays}, "2026-03-02T00:00:00Z", "2026-03-03T10:00:00Z", "2026-03-03T11:00:00Z"},
		"an ongoing one goes first":           {[]string{thursdays, saturdays}, "2026-03-07T20:30:00Z", "2026-03-07T20:00:00Z", "2026-03-07T23:00:00Z"},
		"two are ongoing: the longer one":     {[]string{saturdays, morning}, "2026-03-07T20:30:00Z", "2026-03-07T20:00:00Z", "2026-03-08T08:00:00Z"},
		"two begin together: the longer one":  {[]string{saturdays, morning}, "2026-03-07T12:00:00Z", "2026-03-07T20:00:00Z", "2026-03-08T08:00:00Z"},
		"one ends, a second continues":        {[]string{saturdays, midnight}, "2026-03-07T22:50:00Z", "2026-03-07T22:00:00Z", "2026-03-08T02:00:00Z"},
		"too short, before it begins":         {[]string{short}, "2026-03-02T00:00:00Z", none, none},
		"too short, while it is ongoing":      {[]string{short}, "2026-03-07T20:00:00Z", none, none},
		"a short one does not hide another":   {[]string{short, midnight}, "2026-03-02T00:00:00Z", "2026-03-07T22:00:00Z", "2026-03-08T02:00:00Z"},
		"the minimum, before it begins":       {[]string{exact}, "2026-03-02T00:00:00Z", "2026-03-07T20:00:00Z", "2026-03-07T20:20:00Z"},
		"the minimum, a little late":          {[]string{exact}, "2026-03-07T20:01:59Z", "2026-03-07T20:00:00Z", "2026-03-07T20:20:00Z"},
		"the minimum, too late":               {[]string{exact}, "2026-03-07T20:02:01Z", "2026-03-14T20:00:00Z", "2026-03-14T20:20:00Z"},
		"slightly more, a little late":        {[]string{almost}, "2026-03-07T20:01:59Z", "2026-03-07T20:00:00Z", "2026-03-07T20:20:30Z"},
		"slightly more, too late":             {[]string{almost}, "2026-03-07T20:02:01Z", "2026-03-14T20:00:00Z", "2026-03-14T20:20:30Z"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var windows []Window
			for _, raw := range tc.windows {
				windows = append(windows, windowOf(t, raw))
			}
			begin, end, found := Next(windows, at(t, tc.now), 20*time.Minute)
			require.Equal(t, tc.begin != none, found)
			if !found {
				require.Zero(t, begin)
				require.Zero(t, end)
				return
			}
			require.Equal(t, at(t, tc.begin), begin)
			require.Equal(t, at(t, tc.end), end)
			require.Equal(t, time.UTC, begin.Location())
		})
	}
}

func TestWithoutAMinimumAWindowCountsUntilItsEnd(t *testing.T) {
	w := windowOf(t, `{"days": ["Sat"], "begin": "20:00:00Z", "end": "20:00:30Z"}`)
	for _, minSize := range []time.Duration{0, -time.Hour} {
		begin, _, found := Next([]Window{w}, at(t, "2026-03-07T20:00:29.999Z"), minSize)
		require.True(t, found)
		require.Equal(t, at(t, "2026-03-07T20:00:00Z"), begin)
		begin, _, found = Next([]Window{w}, at(t, "2026-03-07T20:00:30Z"), minSize)
		require.True(t, found)
		require.Equal(t, at(t, "2026-03-14T20:00:00Z"), begin)
	}
}

func TestTheZeroWindowIsNeverOpen(t *testing.T) {
	_, _, found := Next([]Window{{}}, time.Time{}, 0)
	require.False(t, found)
}

// openAt reports in the simplest way whether a window is open: it tries each possible beginning.
func (w Window) openAt(now time.Time) (begin time.Time, open bool) {
	if len(w.starts) == 0 {
		return w.from, !now.Before(w.from) && now.Before(w.to)
	}
	for daysBack := range 3 {
		midnight := time.Date(now.Year(), now.Month(), now.Day()-daysBack, 0, 0, 0, 0, time.UTC)
		for _, start := range w.starts {
			begin := midnight.Add(start % day)
			if mondayFirst(midnight.Weekday()) == int(start/day) && !now.Before(begin) && now.Before(begin.Add(w.length)) {
				return begin, true
			}
		}
	}
	return time.Time{}, false
}

func TestNextReturnsAUsableWindowForRandomWindows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	base := at(t, "2026-01-01T00:00:00Z")
	instant := func() time.Time { return base.Add(time.Duration(random.Int64N(int64(60 * day)))) }
	zones := []*time.Location{time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("", -11*3600), time.FixedZone("", 14*3600)}
	found := 0
	for range 50_000 {
		var windows []Window
		for range random.IntN(4) {
			zone := zones[random.IntN(len(zones))]
			if random.IntN(4) == 0 {
				from := instant()
				windows = append(windows, dated(from, from.Add(time.Duration(1+random.Int64N(int64(2*day))))))
				continue
			}
			var days []time.Weekday
			for range 1 + random.IntN(7) {
				days = append(days, time.Weekday(random.IntN(7)))
			}
			clock := func() time.Time {
				return time.Date(0, 1, 1, random.IntN(24), random.IntN(60), random.IntN(60), 0, zone)
			}
			windows = append(windows, weekly(days, clock(), clock()))
		}
		now, minSize := instant(), time.Duration(random.Int64N(int64(3*time.Hour)))
		begin, end, ok := Next(windows, now, minSize)

		usableNow := false
		for _, w := range windows {
			start, open := w.openAt(now)
			usableNow = usableNow || open && w.span(start).end.Sub(now) >= minSize
		}
		if !ok {
			require.False(t, usableNow)
			for _, w := range windows {
				require.True(t, w.span(w.from).length() < minSize || len(w.starts) == 0 && w.to.Sub(now) < minSize, "%s at %s: Next missed a window", w, now)
			}
			continue
		}
		found++
		require.GreaterOrEqual(t, end.Sub(begin), minSize)
		if begin.After(now) {
			require.False(t, usableNow, "%v at %s: a window is open now", windows, now)
			// No usable window begins between now and the result.
			for _, w := range windows {
				probe := now.Add(time.Duration(random.Int64N(int64(begin.Sub(now)))))
				start, open := w.openAt(probe)
				require.False(t, open && start.After(now) && w.span(start).length() >= minSize, "%s at %s: the window begins before %s", w, now, begin)
			}
		} else {
			require.True(t, now.Before(end))
			require.GreaterOrEqual(t, end.Sub(now), min(minSize, end.Sub(begin)-2*time.Minute))
		}
		from := false
		for _, w := range windows {
			start, open := w.openAt(begin)
			from = from || open && start.Equal(begin) && w.span(start).end.Equal(end)
		}
		require.True(t, from, "%s to %s is not one of %v", begin, end, windows)

		// A caller that waits finds the same or a longer window when it begins, and can use it.
		if begin.After(now) {
			again, until, ok := Next(windows, begin.Add(time.Second), minSize)
			require.True(t, ok)
			require.False(t, again.After(begin))
			require.False(t, until.Before(end))
		}
	}
	require.Greater(t, found, 10_000)
}

// span returns the occurrence of a window that begins at an instant.
func (w Window) span(begin time.Time) span {
	if len(w.starts) == 0 {
		return span{w.from, w.to}
	}
	return span{begin, begin.Add(w.length)}
}
