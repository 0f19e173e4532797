// Package agent runs the agent of a remote cluster as its nodes would: as a process that is started with what the live
// Deployment says, with the files of the live Secret, on the address and port of the live Service, so that the cluster's
// API server calls it.
package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/test/agentpod"
	"github.com/kyma-project/lifecycle-manager/test/agenttest"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// interval is how often the cluster is asked what shall run.
const interval = 200 * time.Millisecond

// Agent is the agent of a cluster, from the creation of its Deployment until its deletion or the end of the test.
type Agent struct {
	t      testing.TB
	remote cluster.Cluster
	mount  *agenttest.Mount
	// Log is the path of its log, over all its starts.
	Log string
	log *os.File

	mu      sync.Mutex
	process *process.Process
	// running is what the process was started as, and files the content of its files.
	running agentpod.Pod
	files   string
	// held agents are not started.
	held   bool
	paused bool
	starts int
	// unread is why the cluster could not be read the last time.
	unread error
}

// maxShown is how much of an agent's log a failed test prints, in bytes.
const maxShown = 8 << 10

// Follow runs the agent of a cluster whenever its objects are there, until the end of the test.
func Follow(t testing.TB, remote cluster.Cluster) *Agent {
	t.Helper()
	a := &Agent{t: t, remote: remote, mount: agenttest.NewMount(t), Log: filepath.Join(t.TempDir(), "agent.log")}
	var err error
	a.log, err = os.Create(a.Log)
	require.NoError(t, err)
	program := testfleet.Binary(t, "agent")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			a.reconcile(ctx, program)
			select {
			case <-ctx.Done():
			case <-time.After(interval):
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		a.mu.Lock()
		defer a.mu.Unlock()
		a.end(syscall.SIGTERM)
		_ = a.log.Close()
		if said, err := os.ReadFile(a.Log); t.Failed() && err == nil {
			t.Logf("the agent's log ends with:\n%s", said[max(len(said)-maxShown, 0):])
		}
	})
	return a
}

// reconcile makes the process what the cluster says. What cannot be read now is read the next time.
func (a *Agent) reconcile(ctx context.Context, program string) {
	wanted, files, err := agentpod.Read(ctx, a.remote, a.mount.Folder)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unread = err; err != nil {
		return
	}
	if files != nil && fmt.Sprint(files) != a.files {
		if err := a.mount.Replace(files); err != nil {
			a.t.Errorf("write the agent's files: %v", err)
			return
		}
		a.files = fmt.Sprint(files)
	}
	if a.process != nil && !a.process.Running() {
		a.process = nil
	}
	if a.process != nil && !wanted.Equal(a.running) {
		a.end(syscall.SIGTERM)
	}
	if a.process != nil || a.held || wanted.Address == "" || files == nil {
		return
	}
	a.process, a.running = process.Start(a.t, a.log, wanted.Environment, program, wanted.Arguments...), wanted
	a.starts++
}

// end ends the process, if there is one. Like the kubelet's kill, it ends one that is paused, too.
func (a *Agent) end(sig os.Signal) {
	if a.process == nil {
		return
	}
	if a.paused {
		sig, a.paused = syscall.SIGKILL, false
	}
	a.process.Stop(sig)
	a.process = nil
}

// Kill kills the process, which is not started again before Restart.
func (a *Agent) Kill() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = true
	a.end(syscall.SIGKILL)
}

// Restart lets a process that was killed start again.
func (a *Agent) Restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = false
}

// Pause stops the process as a node does that hangs: its port takes connections, and nothing is answered. Resume ends that.
func (a *Agent) Pause() { a.signal(syscall.SIGSTOP, true) }

// Resume lets a paused process go on.
func (a *Agent) Resume() { a.signal(syscall.SIGCONT, false) }

func (a *Agent) signal(sig os.Signal, paused bool) {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	require.NotNil(a.t, a.process, "the agent does not run")
	require.NoError(a.t, a.process.Signal(sig))
	a.paused = paused
}

// Starts is how often the process was started.
func (a *Agent) Starts() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.starts
}

// PID is the process's id, 0 where none runs.
func (a *Agent) PID() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process == nil || !a.process.Running() {
		return 0
	}
	return a.process.PID()
}

// BecomesReady waits until the process is what the cluster says now, says that it is ready, and the port of its Service
// takes connections.
func (a *Agent) BecomesReady(within time.Duration) {
	a.t.Helper()
	if !assert.Eventually(a.t, func() bool {
		address := a.address()
		return address != "" && a.isUpToDate() && process.IsReady(net.JoinHostPort(address, fmt.Sprint(shared.AgentProbePort))) && a.CommonName() != ""
	}, within, 50*time.Millisecond) {
		a.mu.Lock()
		defer a.mu.Unlock()
		said, _ := os.ReadFile(a.Log)
		require.Fail(a.t, "the agent does not become ready", "started %d times, at %q; what could not be read: %v; its log:\n%s", a.starts, a.running.Address, a.unread, said)
	}
}

// isUpToDate tells whether the process runs as the cluster says now.
func (a *Agent) isUpToDate() bool {
	wanted, files, err := agentpod.Read(a.t.Context(), a.remote, a.mount.Folder)
	a.mu.Lock()
	defer a.mu.Unlock()
	return err == nil && a.process != nil && wanted.Equal(a.running) && fmt.Sprint(files) == a.files
}

// Ended waits until no process runs, as after the deletion of the Deployment.
func (a *Agent) Ended(within time.Duration) {
	a.t.Helper()
	require.Eventually(a.t, func() bool { return a.PID() == 0 }, within, 50*time.Millisecond, "the agent still runs")
}

// CommonName is that of the certificate that the agent shows now; empty where it shows none.
func (a *Agent) CommonName() string {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}} //nolint:gosec // whoever it is, what it shows is compared
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(a.address(), agentpod.Port))
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	secure, ok := conn.(*tls.Conn)
	if !ok {
		return ""
	}
	return secure.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// Metric is the value of the first series that begins with this text; empty where there is none.
func (a *Agent) Metric(series string) string {
	found, err := process.Series(net.JoinHostPort(a.address(), fmt.Sprint(shared.AgentMetricsPort)), series)
	if err != nil {
		return ""
	}
	return found[series]
}

// PeakMemory is the most memory in MiB that the process has had in use.
func (a *Agent) PeakMemory() float64 {
	a.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.PID()))
	require.NoError(a.t, err)
	for line := range strings.Lines(string(status)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	require.Fail(a.t, "the system does not say how much memory the agent has had")
	return 0
}

func (a *Agent) address() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.running.Address
}
