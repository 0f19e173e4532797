//go:build unix

package artifacts

import (
	"os"
	"runtime/debug"
	"syscall"
	"time"
)

// maxStack is what a goroutine of a renderer may recurse to, in bytes.
const maxStack = 32 << 20

// confine limits this process: memory, and time on processors for the case that nobody is left to end it. When a node
// runs out of memory, it is the first to go.
func confine(limits Limits) error {
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(limits.RenderBytes / 4 * 3)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // where there is none, there is no such killer
	seconds := uint64(limits.RenderTime/time.Second)*4 + 1
	for resource, limit := range map[int]uint64{
		syscall.RLIMIT_DATA: uint64(limits.RenderBytes), //nolint:gosec // positive
		syscall.RLIMIT_CPU:  seconds,
		syscall.RLIMIT_CORE: 0,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}
