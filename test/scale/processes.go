package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// process is a program that runs beside this one.
type process struct {
	// name is what the process is called in the record; one that is started again keeps it.
	name    string
	command *exec.Cmd
	// stop is the signal that ends it in order.
	stop syscall.Signal
	// ended is closed once it has ended.
	ended chan struct{}
}

// program is how a process is started.
type program struct {
	name      string
	path      string
	arguments []string
	variables []string
	// folder is the working folder, this program's by default.
	folder string
	// as is the user that it runs as, this program's by default.
	as *syscall.Credential
	// stop is the signal that ends it in order, SIGTERM by default.
	stop syscall.Signal
}

// start starts a program that runs until it is stopped, with its output in a file.
func (e *environment) start(p program) (*process, error) {
	log, err := os.OpenFile(e.path(p.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(p.path, p.arguments...) //nolint:gosec,noctx // programs that were built or found here, stopped by takeDown
	command.Env = append(os.Environ(), p.variables...)
	command.Dir = p.folder
	command.Stdout, command.Stderr = log, log
	// In a group of its own, so that Ctrl-C reaches this program only, which then stops all in their order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: p.as}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	started := &process{name: p.name, command: command, stop: p.stop, ended: make(chan struct{})}
	if started.stop == 0 {
		started.stop = syscall.SIGTERM
	}
	go func() {
		_ = command.Wait()
		close(started.ended)
	}()
	e.started = append(e.started, started)
	e.watched.add(p.name, command.Process.Pid)
	return started, nil
}

// stopGrace is how long a process may take to end before it is killed.
const stopGrace = 40 * time.Second

// end stops a process and waits for its end. One that does not end is killed.
func (e *environment) end(p *process, signal syscall.Signal) {
	e.watched.retire(p.name)
	_ = p.command.Process.Signal(signal) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(stopGrace):
		say("%s does not end and is killed", p.name)
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// takeDown stops everything, what was started last first.
func (e *environment) takeDown(ctx context.Context) {
	for i := len(e.started) - 1; i >= 0; i-- {
		e.end(e.started[i], e.started[i].stop)
	}
	if e.up {
		if _, err := output(ctx, nil, "bin/fleet", "--state-dir", e.path("fleet"), "down"); err != nil {
			say("%v", err)
		}
	}
}

// died is an error that names a process that has ended by itself, if there is one.
func (p *process) died() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended (%s): see its log, with -keep", p.name, p.command.ProcessState) //nolint:err113 // for people
	default:
		return nil
	}
}

// output runs a program to its end and returns its standard output.
func output(ctx context.Context, in []byte, program string, arguments ...string) ([]byte, error) {
	return run(exec.CommandContext(ctx, program, arguments...), in) //nolint:gosec // programs that were built or found here
}

func run(command *exec.Cmd, in []byte) ([]byte, error) {
	var failure bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(in), &failure
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w\n%s%s", command.Args, err, out, failure.String())
	}
	return out, nil
}

func until(ctx context.Context, patience time.Duration, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s: %s", patience, what)) //nolint:err113 // for people
	defer cancel()
	for {
		is, err := so()
		if err != nil || is {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Ports are taken from below those that the system gives to outgoing connections, to which one could be lost while a process
// is down, and those of the fleet. Temporal's schema for PostgreSQL has no room for ports above 32767 either.
const (
	lowestPort  = 10000
	highestPort = 19999
)

// freePorts are ports of the loopback interface on which nothing listens, each another one.
func freePorts(count int) ([]int, error) {
	var ports []int
	var taken []net.Listener
	defer func() {
		for _, listener := range taken { // not before all are found, or else one would be found twice
			_ = listener.Close()
		}
	}()
	for range highestPort - lowestPort {
		if len(ports) == count {
			return ports, nil
		}
		port := lowestPort + rand.IntN(highestPort-lowestPort+1) //nolint:gosec // no secret
		listener, err := net.Listen("tcp", local(port))
		if err != nil {
			continue
		}
		ports, taken = append(ports, port), append(taken, listener)
	}
	return nil, fmt.Errorf("there are not %d free ports from %d to %d", count, lowestPort, highestPort) //nolint:err113 // for people
}

// local is an address on the loopback interface.
func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
