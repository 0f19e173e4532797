package harness

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

// pace is at which tests begin that run side by side. Each has a fleet of its own, but they share the processor: a further test
// begins only while the machine keeps up, so that on a slow or busy one they run one after the other instead of
// starving each other.
type pace struct {
	mu      sync.Mutex
	running int
	// delay is by how much the last naps took too long, as a moving average.
	delay time.Duration
}

// begin waits until one more test can run; it ends with the test.
func (p *pace) begin(t testing.TB) {
	t.Helper()
	for !p.tryBegin() {
		time.Sleep(100 * time.Millisecond)
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.running--
	})
}

func (p *pace) tryBegin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running > 0 && p.delay > tooLate {
		return false
	}
	p.running++
	return true
}

// watch measures how late a sleeper is woken, for as long as the tests run.
func (p *pace) watch() {
	const weight = 100 // the average is over about that many naps, some seconds
	for {
		began := time.Now()
		time.Sleep(napTime)
		late := time.Since(began) - napTime
		p.mu.Lock()
		p.delay += (late - p.delay) / weight
		p.mu.Unlock()
		time.Sleep(2 * napTime)
	}
}

// sideBySide is the pace of this test run.
var sideBySide = sync.OnceValue(func() *pace {
	p := &pace{}
	go p.watch()
	return p
})
