package queue

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Pauses between tries, each about twice as long as the one before.
const (
	firstPause, longestPause = 500 * time.Millisecond, 30 * time.Second
	// firstSlowPause is after a refusal that a person or a new certificate has to end.
	firstSlowPause, longestSlowPause = 10 * time.Second, 5 * time.Minute
)

// Pause is what is known of how long a failure lasts.
type Pause struct {
	// Slow failures are not over in a moment.
	Slow bool
	// AtLeast is what the listener asked for.
	AtLeast time.Duration
}

// lane has the events of one manager in the order in which they came.
type lane struct {
	manager string
	waiting []*entry
	sending int
	// failing lanes send one event at a time, not before until.
	failing     bool
	until       time.Time
	quick, slow *backoff.ExponentialBackOff
}

func newLane(manager string) *lane {
	return &lane{manager: manager, quick: pauses(firstPause, longestPause), slow: pauses(firstSlowPause, longestSlowPause)}
}

func pauses(first, longest time.Duration) *backoff.ExponentialBackOff {
	made := backoff.NewExponentialBackOff()
	made.InitialInterval, made.MaxInterval, made.Multiplier = first, longest, 2
	made.Reset()
	return made
}

// next is whether an event may be sent now, or else after which time, where only time is missing.
func (l *lane) next(now time.Time) (time.Duration, bool) {
	most := perLane
	if l.failing {
		most = 1
	}
	if len(l.waiting) == 0 || l.sending >= most {
		return 0, false
	}
	if wait := l.until.Sub(now); wait > 0 {
		return wait, false
	}
	return 0, true
}

func (l *lane) take() *entry {
	first := l.waiting[0]
	l.waiting[0] = nil
	l.waiting = l.waiting[1:]
	first.sending = true
	l.sending++
	return first
}

func (l *lane) recover() {
	l.failing, l.until = false, time.Time{}
	l.quick.Reset()
	l.slow.Reset()
}

// fail begins a pause. Of several events that were on their way together, the first to fail does.
func (l *lane) fail(now time.Time, pause Pause) {
	if l.failing && l.until.After(now) && pause.AtLeast == 0 {
		return
	}
	wait := l.quick
	if pause.Slow {
		wait = l.slow
	}
	l.failing = true
	if until := now.Add(max(wait.NextBackOff(), pause.AtLeast)); until.After(l.until) {
		l.until = until
	}
}

func (l *lane) wake() {
	l.until = time.Time{}
	l.quick.Reset()
	l.slow.Reset()
}
