package main

import (
	"errors"
	"syscall"
)

// runs reports whether there is a process with this id.
func runs(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
