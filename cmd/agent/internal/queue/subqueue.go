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

// subqueue has the events of one manager in the order in which they came.
type subqueue struct {
	manager string
	waiting []*entry
	sending int
	// failing subqueues send one event at a time, not before until.
	failing     bool
	until       time.Time
	quick, slow *backoff.ExponentialBackOff
}

func newSubqueue(manager string) *subqueue {
	return &subqueue{manager: manager, quick: pauses(firstPause, longestPause), slow: pauses(firstSlowPause, longestSlowPause)}
}

func pauses(first, longest time.Duration) *backoff.ExponentialBackOff {
	made := backoff.NewExponentialBackOff()
	made.InitialInterval, made.MaxInterval, made.Multiplier = first, longest, 2
	made.Reset()
	return made
}

// next is whether an event may be sent now, or else after which time, where only time is missing.
func (s *subqueue) next(now time.Time) (time.Duration, bool) {
	most := perManager
	if s.failing {
		most = 1
	}
	if len(s.waiting) == 0 || s.sending >= most {
		return 0, false
	}
	if wait := s.until.Sub(now); wait > 0 {
		return wait, false
	}
	return 0, true
}

func (s *subqueue) take() *entry {
	first := s.waiting[0]
	s.waiting[0] = nil
	s.waiting = s.waiting[1:]
	first.sending = true
	s.sending++
	return first
}

func (s *subqueue) recover() {
	s.failing, s.until = false, time.Time{}
	s.quick.Reset()
	s.slow.Reset()
}

// fail begins a pause. Of several events that were on their way together, the first to fail does.
func (s *subqueue) fail(now time.Time, pause Pause) {
	if s.failing && s.until.After(now) && pause.AtLeast == 0 {
		return
	}
	wait := s.quick
	if pause.Slow {
		wait = s.slow
	}
	s.failing = true
	if until := now.Add(max(wait.NextBackOff(), pause.AtLeast)); until.After(s.until) {
		s.until = until
	}
}

func (s *subqueue) wake() {
	s.until = time.Time{}
	s.quick.Reset()
	s.slow.Reset()
}
