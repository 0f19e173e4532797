package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/scale/processes"
)

// start starts a program that runs until it is stopped, with its output in a file.
func (e *environment) start(p processes.Program) (*processes.Process, error) {
	log, err := os.OpenFile(e.path(p.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(p.Path, p.Arguments...) //nolint:gosec,noctx // programs that were built or found here, stopped by takeDown
	command.Env = append(os.Environ(), p.Variables...)
	command.Dir = p.Folder
	command.Stdout, command.Stderr = log, log
	// In a group of its own, so that Ctrl-C reaches this program only, which then stops all in their order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: p.As}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Name, err)
	}
	started := &processes.Process{Name: p.Name, Command: command, Stop: p.Stop, Ended: make(chan struct{})}
	if started.Stop == 0 {
		started.Stop = syscall.SIGTERM
	}
	go func() {
		_ = command.Wait()
		close(started.Ended)
	}()
	e.started = append(e.started, started)
	e.watched.Add(p.Name, command.Process.Pid)
	return started, nil
}

// stopGrace is how long a process may take to end before it is killed.
const stopGrace = 40 * time.Second

// end stops a process and waits for its end. One that does not end is killed.
func (e *environment) end(p *processes.Process, signal syscall.Signal) {
	e.watched.Retire(p.Name)
	_ = p.Command.Process.Signal(signal) // it may have ended
	select {
	case <-p.Ended:
	case <-time.After(stopGrace):
		say("%s does not end and is killed", p.Name)
		_ = p.Command.Process.Kill()
		<-p.Ended
	}
}

// takeDown stops everything, what was started last first.
func (e *environment) takeDown(ctx context.Context) {
	for i := len(e.started) - 1; i >= 0; i-- {
		e.end(e.started[i], e.started[i].Stop)
	}
	if e.up {
		if _, err := processes.Output(ctx, nil, "bin/fleet", "--state-dir", e.path("fleet"), "down"); err != nil {
			say("%v", err)
		}
	}
}
