// Package process runs programs beside a test: it starts them, stops them by process id, gives out addresses for them to
// listen on, and reads their probes and metrics.
package process

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Process is a program that runs beside the test and is stopped by its process id.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// Start starts a program that writes into a log.
func Start(t testing.TB, log *os.File, env []string, program string, args ...string) *Process {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = env
	return StartCommand(t, log, cmd)
}

// StartCommand starts a command that writes into a log.
func StartCommand(t testing.TB, log *os.File, cmd *exec.Cmd) *Process {
	t.Helper()
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p
}

// Running reports whether it has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal, and does not wait.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Stop sends a signal and waits until the process has ended; it is killed after 40 seconds.
func (p *Process) Stop(sig os.Signal) {
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(40 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// FreeAddress is an address on loopback that nobody listens on, and that nobody takes before it is used, however
// long that takes: the port is below those that systems and fleets choose from, and given out once.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const first, last = 10000, 19999
	for range last - first {
		address := fmt.Sprintf("127.0.0.1:%d", first+(os.Getpid()*97+int(portsGivenOut.Add(1)))%(last-first))
		if listener, err := net.Listen("tcp", address); err == nil {
			require.NoError(t, listener.Close())
			return address
		}
	}
	t.Fatalf("every port between %d and %d is taken", first, last)
	return ""
}

// portsGivenOut counts the ports that FreeAddress has tried.
var portsGivenOut atomic.Int64

// IsReady asks a process whether it is ready, at the address of its probes.
func IsReady(address string) bool {
	response, err := http.Get(fmt.Sprintf("http://%s/readyz", address)) //nolint:noctx // a probe of a test
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}
