package harness

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

const (
	// enough is the share of a core that whoever has work must get where a further test is to begin.
	enough = 0.4
	// spare is the part of all cores that must be idle, or at work for others at a lower priority, where a further test
	// is to begin though there is one for each core already: about what a test takes on two cores.
	spare = 0.25
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
	// queue is held by the test that is the next to begin.
	queue   sync.Mutex
	mu      sync.Mutex
	running int
	// begun is when the last test began.
	begun time.Time
	// share is what share of a core work got lately, as a moving average. (How soon a sleeper is woken tells nothing:
	// that is in time on an overloaded machine too.)
	share float64
	// idle is which part of all cores had nothing better to do lately, on Linux, as such an average as well.
	idle float64
}

// begin waits until one more test can run; it ends with the test. Tests begin in the order in which they came here.
func (p *pace) begin(t testing.TB) {
	t.Helper()
	p.queue.Lock()
	for !p.tryBegin() {
		time.Sleep(100 * time.Millisecond)
	}
	p.queue.Unlock()
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.running--
	})
}

func (p *pace) tryBegin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running > 0 && (!p.keepsUp() || time.Since(p.begun) < settling) {
		return false
	}
	p.running++
	p.begun = time.Now()
	return true
}

// keepsUp tells whether one more test would slow down neither itself nor the others much.
func (p *pace) keepsUp() bool {
	if p.running < runtime.NumCPU() {
		return p.share >= enough
	}
	return p.idle >= spare
}

// watch measures for as long as the tests run.
func (p *pace) watch() {
	const weight = 6 // the averages are over about that many measurements, some seconds
	before := allCores()
	for {
		busy := share()
		cores := allCores()
		p.mu.Lock()
		p.share += (busy - p.share) / weight
		p.idle += (before.idleUntil(cores) - p.idle) / weight
		p.mu.Unlock()
		before = cores
		time.Sleep(pause)
	}
}

// cores is what all cores did since the start of the machine, in seconds, without the time that a virtual machine did not
// get.
type cores struct{ idle, busy float64 }

func allCores() cores {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return cores{}
	}
	stat, err := fs.Stat()
	if err != nil {
		return cores{}
	}
	c := stat.CPUTotal
	return cores{idle: c.Idle + c.Iowait + c.Nice, busy: c.User + c.System + c.IRQ + c.SoftIRQ}
}

// idleUntil is which part of the time between two looks the cores were idle.
func (c cores) idleUntil(later cores) float64 {
	idle, busy := later.idle-c.idle, later.busy-c.busy
	if idle+busy <= 0 {
		return 0
	}
	return idle / (idle + busy)
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
