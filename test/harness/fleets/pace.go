package fleets

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
	// enough is the share of a core that a busy process must get before a further test begins.
	enough = 0.4
	// spare is the part of all cores that must be idle, or busy with work of a lower priority, before a further test
	// begins though there is one for each core already: a little less than a test takes on two cores.
	spare = 0.1
	// probe is the duration of one measurement, some scheduling slices, and pause the time until the next.
	probe = 10 * time.Millisecond
	pause = 500 * time.Millisecond
	// settling is how long a test runs before it shows in the share.
	settling = 3 * time.Second
)

// pace decides when tests begin that run at the same time. Each has a fleet of its own, but they share the processor: a
// further test begins only while the machine keeps up, so that on a slow or busy one they run one after the other
// instead of starving each other.
type pace struct {
	// queue is locked by the test that begins next.
	queue   sync.Mutex
	mu      sync.Mutex
	running int
	// begun is when the last test began.
	begun time.Time
	// share is what share of a core work got lately, as a moving average. (How late a
	// sleeper is woken says nothing: it is in time on an overloaded machine too.)
	share float64
	// idle is the idle share of all cores lately, on Linux, as such an average as well.
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

// keepsUp reports whether one more test would slow down neither itself nor the others much.
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

// idleUntil is which part of the time between two measurements the cores were idle.
func (c cores) idleUntil(later cores) float64 {
	idle, busy := later.idle-c.idle, later.busy-c.busy
	if idle+busy <= 0 {
		return 0
	}
	return idle / (idle + busy)
}

// share computes for a moment, and returns which share of that time it had a core: 1 where it had a core for
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
