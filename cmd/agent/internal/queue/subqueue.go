package queue

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Pauses between attempts. They double up to the longest one.
const (
	firstPause, longestPause = 500 * time.Millisecond, 30 * time.Second
	// firstSlowPause follows a refusal that only a person or a new certificate can end.
	firstSlowPause, longestSlowPause = 10 * time.Second, 5 * time.Minute
)

// Pause describes the pause after a failure.
type Pause struct {
	// Slow is true if the failure is not expected to end soon.
	Slow bool
	// AtLeast is the minimum pause that the listener asked for.
	AtLeast time.Duration
}

// subqueue holds the events of one manager in order of arrival.
type subqueue struct {
	manager string
	waiting []*entry
	sending int
	// failing is true after a failure: the subqueue then sends one event at a time, and none before until.
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

// next reports whether an event may be sent now. If only a pause prevents that, next returns its remaining time.
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

// fail begins a pause. If several events fail at the same time, only the first one begins a pause.
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
