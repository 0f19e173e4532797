// Package processes has the programs that run beside scale, and free ports for them. The environment of scale starts and stops
// them.
package processes

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Process is a program that runs beside this one.
type Process struct {
	// Name is what the process is called in the record; one that is started again keeps it.
	Name    string
	Command *exec.Cmd
	// Stop is the signal that ends it in order.
	Stop syscall.Signal
	// Ended is closed once it has ended.
	Ended chan struct{}
}

// Program is how a process is started.
type Program struct {
	Name      string
	Path      string
	Arguments []string
	Variables []string
	// Folder is the working folder, this program's by default.
	Folder string
	// As is the user that it runs as, this program's by default.
	As *syscall.Credential
	// Stop is the signal that ends it in order, SIGTERM by default.
	Stop syscall.Signal
}

// Died is an error that names a process that has ended by itself, if there is one.
func (p *Process) Died() error {
	select {
	case <-p.Ended:
		return fmt.Errorf("%s has ended (%s): see its log, with -keep", p.Name, p.Command.ProcessState) //nolint:err113 // for people
	default:
		return nil
	}
}

// Output runs a program to its end and returns its standard output.
func Output(ctx context.Context, in []byte, program string, arguments ...string) ([]byte, error) {
	return Run(exec.CommandContext(ctx, program, arguments...), in) //nolint:gosec // programs that were built or found here
}

// Run runs a command to its end with this input, and returns its standard output. The error has its standard error.
func Run(command *exec.Cmd, in []byte) ([]byte, error) {
	var failure bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(in), &failure
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w\n%s%s", command.Args, err, out, failure.String())
	}
	return out, nil
}

// Until polls until it is so, and fails when patience, ctx or the check ends with an error.
func Until(ctx context.Context, patience time.Duration, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s: %s", patience, what)) //nolint:err113 // for people
	defer cancel()
	for {
		ok, err := so()
		if err != nil || ok {
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

// FreePorts are ports of the loopback interface on which nothing listens, each another one.
func FreePorts(count int) ([]int, error) {
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
		listener, err := net.Listen("tcp", Local(port))
		if err != nil {
			continue
		}
		ports, taken = append(ports, port), append(taken, listener)
	}
	return nil, fmt.Errorf("there are not %d free ports from %d to %d", count, lowestPort, highestPort) //nolint:err113 // for people
}

// Local is an address on the loopback interface.
func Local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
