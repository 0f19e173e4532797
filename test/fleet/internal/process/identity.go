// Package process starts, recognises and stops the programs of a fleet.
//
// Programs outlive the command that starts them, so what is known of them is
// kept in files. A process id alone is not enough to recognise a process later:
// the system gives it to another program once the first has ended. So a process
// is recognised by its id together with the instant at which the kernel started
// it, and nothing is ever signalled that does not match both.
package process

import (
	"errors"
	"fmt"
)

// ErrGone says that no such process is running: it has ended, it is a zombie
// that only waits to be collected, or its id now belongs to another program.
var ErrGone = errors.New("process is gone")

// Identity names one run of one program on this machine, across restarts of the
// machine. Two identities are of the same process only if they are equal.
type Identity struct {
	// PID is the process id.
	PID int `json:"pid"`
	// StartTime is the start of the process as the kernel reports it. It can be
	// compared with another value for the same PID and has no other meaning.
	StartTime string `json:"startTime"`
}

// Identify reads the identity of the running process with the given id. It
// returns ErrGone when there is none.
func Identify(pid int) (Identity, error) {
	if pid <= 0 {
		return Identity{}, fmt.Errorf("process id %d: %w", pid, ErrGone)
	}
	start, err := startTime(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("read the start time of process %d: %w", pid, err)
	}
	return Identity{PID: pid, StartTime: start}, nil
}

// Alive reports whether this very process still runs.
func (i Identity) Alive() bool {
	now, err := Identify(i.PID)
	return err == nil && now == i
}
