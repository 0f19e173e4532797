package e2e

import (
	"sync"
	"testing"
	"time"
)

const (
	// napTime is what a nap is to take, and tooLate from which average delay on the processor counts as overloaded:
	// a machine with time to spare wakes a sleeper within a millisecond.
	napTime = 10 * time.Millisecond
	tooLate = 4 * time.Millisecond
)

// lanes are the tests that run side by side. Each has a fleet of its own, but they share the processor: a further test
// begins only while the machine keeps up, so that on a slow or busy one they run one after the other instead of
// starving each other.
type lanes struct {
	mu      sync.Mutex
	running int
	// delay is by how much the last naps took too long, as a moving average.
	delay time.Duration
}

// begin waits until one more test can run; it ends with the test.
func (l *lanes) begin(t testing.TB) {
	t.Helper()
	for !l.tryBegin() {
		time.Sleep(100 * time.Millisecond)
	}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
	})
}

func (l *lanes) tryBegin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running > 0 && l.delay > tooLate {
		return false
	}
	l.running++
	return true
}

// watch measures how late a sleeper is woken, for as long as the tests run.
func (l *lanes) watch() {
	const weight = 100 // the average is over about that many naps, some seconds
	for {
		began := time.Now()
		time.Sleep(napTime)
		late := time.Since(began) - napTime
		l.mu.Lock()
		l.delay += (late - l.delay) / weight
		l.mu.Unlock()
		time.Sleep(2 * napTime)
	}
}

// sideBySide are the lanes of this test run.
var sideBySide = sync.OnceValue(func() *lanes {
	l := &lanes{}
	go l.watch()
	return l
})
