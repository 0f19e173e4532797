package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// stopPoll is how often a process that was asked to end is checked.
const stopPoll = 20 * time.Millisecond

// killWait bounds the wait for a killed process; the kernel ends it at once
// unless it is stuck in a device.
const killWait = 10 * time.Second

// Stop ends the recorded process of a component and removes the record: first
// by SIGTERM, after grace, or at once when grace is zero, by SIGKILL. A process
// that is gone already is no error, and one that merely has its process id is
// not stopped. Ended early by the context, it kills at once.
func (r Records) Stop(ctx context.Context, component string, grace time.Duration) error {
	record, err := r.Running(component)
	if errors.Is(err, ErrGone) {
		return r.Remove(component)
	}
	if err != nil {
		return err
	}
	if grace > 0 {
		if err := record.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, ErrGone) {
			return fmt.Errorf("stop %s: %w", component, err)
		}
		// A paused process acts on SIGTERM only once it runs again.
		if err := record.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, ErrGone) {
			return fmt.Errorf("stop %s: %w", component, err)
		}
		if record.awaitEnd(ctx, grace) {
			return r.Remove(component)
		}
	}
	if err := record.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, ErrGone) {
		return fmt.Errorf("kill %s: %w", component, err)
	}
	if !record.awaitEnd(context.WithoutCancel(ctx), killWait) {
		return fmt.Errorf("kill %s: process %d is still there %s after SIGKILL", component, record.PID, killWait)
	}
	return r.Remove(component)
}

// Signal sends a signal to this very process, or returns ErrGone.
func (i Identity) Signal(signal os.Signal) error {
	// FindProcess takes a handle on the process where the system has such; the
	// identity is compared after that, so the id cannot change owners between.
	target, err := os.FindProcess(i.PID)
	if err != nil {
		return fmt.Errorf("process %d: %w", i.PID, ErrGone)
	}
	defer func() { _ = target.Release() }()
	if !i.Alive() {
		return fmt.Errorf("process %d: %w", i.PID, ErrGone)
	}
	err = target.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d: %w", i.PID, ErrGone)
	}
	if err != nil {
		return fmt.Errorf("send %s to process %d: %w", signal, i.PID, err)
	}
	return nil
}

func (i Identity) awaitEnd(ctx context.Context, timeout time.Duration) bool {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	for i.Alive() {
		select {
		case <-ctx.Done():
			return !i.Alive()
		case <-deadline.C:
			return !i.Alive()
		case <-tick.C:
		}
	}
	return true
}
