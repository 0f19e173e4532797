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

// maxStack is the greatest stack size of a renderer's goroutine, in bytes.
const maxStack = 32 << 20

// confine limits this process permanently: its environment, its access to files, network and other processes, its
// memory, and its processor time. If a node runs out of memory, the kernel kills this process first.
func confine(limits Limits) error {
	runtime.GOMAXPROCS(renderProcessors)
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(limits.RenderBytes / 4 * 3)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // ignore the error: without this file there is no OOM killer
	os.Clearenv()
	time.Sleep(time.Nanosecond) // The first timer makes the runtime open the files that timers need.
	endWhenOutOfTime()
	return isolate(limits)
}

// endWhenOutOfTime ends this process with the exit code outOfTime when its processor time is used up.
func endWhenOutOfTime() {
	spent := make(chan os.Signal, 1)
	signal.Notify(spent, syscall.SIGXCPU)
	go func() {
		<-spent
		os.Exit(outOfTime)
	}()
}

// isolate removes all rights from this process that a renderer does not need.
func isolate(limits Limits) error {
	seconds := uint64(limits.RenderTime/time.Second) + 1
	for resource, limit := range map[int]syscall.Rlimit{
		syscall.RLIMIT_DATA: {Cur: uint64(limits.RenderBytes), Max: uint64(limits.RenderBytes)}, //nolint:gosec // positive
		// The first limit sends the signal, the second kills the process.
		syscall.RLIMIT_CPU:  {Cur: seconds, Max: seconds + 5},
		syscall.RLIMIT_CORE: {},
		// From now on the process cannot open files and connections. It can use the open ones.
		syscall.RLIMIT_NOFILE: {},
		syscall.RLIMIT_FSIZE:  {},
	} {
		if err := syscall.Setrlimit(resource, &limit); err != nil {
			return err
		}
	}
	return filterSystemCalls()
}
