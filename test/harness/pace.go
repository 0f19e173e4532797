package harness

import (
	"crypto/sha256"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// enough is the share of a core that whoever has work must get where a further test is to begin.
	enough = 0.5
	// probe is for how long one measurement works, and pause how long it waits until the next: some scheduling slices,
	// and little enough not to be felt.
	probe = 10 * time.Millisecond
	pause = 500 * time.Millisecond
	// settling is for how long a test has run before it shows in the share.
	settling = 3 * time.Second
)

// pace is at which tests begin that run side by side. Each has a fleet of its own, but they share the processor: a
// further test begins only while the machine keeps up, so that on a slow or busy one they run one after the other
// instead of starving each other.
type pace struct {
	mu      sync.Mutex
	running int
	// begun is when the last test began.
	begun time.Time
	// share is what share of a core work got lately, as a moving average. (How soon a sleeper is woken tells nothing:
	// that is in time on an overloaded machine too.)
	share float64
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
	if p.running > 0 && (p.share < enough || time.Since(p.begun) < settling) {
		return false
	}
	p.running++
	p.begun = time.Now()
	return true
}

// watch measures the share for as long as the tests run.
func (p *pace) watch() {
	const weight = 6 // the average is over about that many measurements, some seconds
	for {
		now := share()
		p.mu.Lock()
		p.share += (now - p.share) / weight
		p.mu.Unlock()
		time.Sleep(pause)
	}
}

// share works for a moment, and returns what share of that time a processor worked for it: 1 where it had a core for
// itself.
func share() float64 {
	began, before := time.Now(), processorTime()
	for time.Since(began) < probe {
		sha256.Sum256(make([]byte, 4096))
	}
	took, had := time.Since(began), processorTime()-before
	return min(1, had.Seconds()/took.Seconds())
}

func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// sideBySide is the pace of this test run.
var sideBySide = sync.OnceValue(func() *pace {
	p := &pace{share: 1}
	go p.watch()
	return p
})
