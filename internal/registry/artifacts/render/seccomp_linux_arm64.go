package render

import "golang.org/x/sys/unix"

// filterArch is the architecture of the filtered system calls.
const filterArch = unix.AUDIT_ARCH_AARCH64

func archCalls() []uint32 { return nil }
