//go:build unix

package render

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// maxStack is what a goroutine of a renderer may recurse to, in bytes.
const maxStack = 32 << 20

// confine limits this process for good: what it knows, what it can reach, its memory, and its time on processors. When a
// node runs out of memory, it is the first to go.
func confine(limits Limits) error {
	runtime.GOMAXPROCS(renderProcessors)
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(limits.RenderBytes / 4 * 3)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // where there is none, there is no such killer
	os.Clearenv()
	time.Sleep(time.Nanosecond) // The runtime opens what its timers need with the first of them.
	endWhenOutOfTime()
	return isolate(limits)
}

// endWhenOutOfTime ends this process with an exit code of its own when it has used up its time on processors.
func endWhenOutOfTime() {
	spent := make(chan os.Signal, 1)
	signal.Notify(spent, syscall.SIGXCPU)
	go func() {
		<-spent
		os.Exit(outOfTime)
	}()
}

// isolate takes from this process all that a renderer does not need.
func isolate(limits Limits) error {
	seconds := uint64(limits.RenderTime/time.Second) + 1
	for resource, limit := range map[int]syscall.Rlimit{
		syscall.RLIMIT_DATA: {Cur: uint64(limits.RenderBytes), Max: uint64(limits.RenderBytes)}, //nolint:gosec // positive
		// The signal comes with the first, the end with the second.
		syscall.RLIMIT_CPU:  {Cur: seconds, Max: seconds + 5},
		syscall.RLIMIT_CORE: {},
		// No file and no connection can be opened from now on, those that are open can be used.
		syscall.RLIMIT_NOFILE: {},
		syscall.RLIMIT_FSIZE:  {},
	} {
		if err := syscall.Setrlimit(resource, &limit); err != nil {
			return err
		}
	}
	return filterSystemCalls()
}
