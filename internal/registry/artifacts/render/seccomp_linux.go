//go:build linux && (amd64 || arm64)

package render

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the data that the kernel passes to a filter: struct seccomp_data of linux/seccomp.h. For an argument, the
// offset of the lower half.
const (
	dataCall     = 0
	dataArch     = 4
	dataArgument = 16
)

// filterSystemCalls restricts all threads of this process to the system calls that memory, threads, clocks and open
// files need. All others fail, whoever runs this process and whatever the container allows: the process cannot reach a
// file, a connection, a device, another process or another program. If the kernel has no filters, nothing happens.
func filterSystemCalls() error {
	filter := systemCallFilter(uint32(os.Getpid())) //nolint:gosec // positive
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// An unprivileged process may set a filter only if it can gain no privileges. That flag is set for one thread; the
	// filter then synchronizes to all threads.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil // an old kernel
	}
	notSynced, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	switch {
	case errno == unix.ENOSYS || errno == unix.EINVAL || errno == unix.EPERM || errno == unix.EACCES:
		return nil
	case errno != 0:
		return fmt.Errorf("filter system calls: %w", errno)
	case notSynced != 0:
		return fmt.Errorf("filter system calls: thread %d has its own filter", notSynced)
	}
	return nil
}

// systemCallFilter returns the filter for the process with this id, as a BPF program.
func systemCallFilter(process uint32) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	end := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	unless := func(test uint16, value uint32, skip int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: value, Jf: uint8(skip)}
	}
	refuse := func(errno unix.Errno) unix.SockFilter { return end(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
	allow := end(unix.SECCOMP_RET_ALLOW)

	filter := []unix.SockFilter{
		load(dataArch), {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: filterArch, Jt: 1}, end(unix.SECCOMP_RET_KILL_PROCESS),
		load(dataCall),
	}
	for _, call := range allowedCalls() {
		filter = append(filter, unless(unix.BPF_JEQ, call, 1), allow)
	}
	return append(filter,
		// Allow new threads, not new processes.
		unless(unix.BPF_JEQ, unix.SYS_CLONE, 4), load(dataArgument), unless(unix.BPF_JSET, unix.CLONE_THREAD, 1), allow, refuse(unix.EPERM),
		// The filter cannot see the flags of clone3. After ENOSYS, the C library uses clone.
		unless(unix.BPF_JEQ, unix.SYS_CLONE3, 1), refuse(unix.ENOSYS),
		// Allow signals to this process: the runtime preempts goroutines with them.
		unless(unix.BPF_JEQ, unix.SYS_TGKILL, 3), load(dataArgument), unless(unix.BPF_JEQ, process, 1), allow,
		refuse(unix.EPERM),
	)
}

// allowedCalls returns the system calls that are allowed with any arguments. None of them names a file, an address or
// another process.
func allowedCalls() []uint32 {
	return append(archCalls(),
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_EPOLL_PWAIT,
		unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	)
}
