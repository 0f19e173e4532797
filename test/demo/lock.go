package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock makes sure that one demo at a time uses a folder. The system releases
// the lock when the demo ends, however it ends.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the demo's folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another demo is running from this folder (%s is locked): end it, or choose another folder by ARGS=--state=FOLDER", path)
		}
		return nil, fmt.Errorf("lock the demo's folder: %w", err)
	}
	return func() { _ = file.Close() }, nil
}
