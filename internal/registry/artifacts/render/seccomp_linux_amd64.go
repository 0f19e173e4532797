package render

import "golang.org/x/sys/unix"

// filterArch is the architecture of the filtered system calls.
const filterArch = unix.AUDIT_ARCH_X86_64

func archCalls() []uint32 { return []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_TIME} }
