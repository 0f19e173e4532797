package harness

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Instance is Lifecycle Manager as a process, which can be started and ended many times.
type Instance struct {
	// Flags follow those that every instance of the tests has; a change takes effect with the next start.
	Flags []string
	// Log is the path of its log, over all its starts, and Probe the address of its probes since the last one.
	Log, Probe string
	// Container, where set, is what the process runs in instead of as one of this machine.
	Container *Container
	// Program is the path of another build of lifecycle-manager; empty is that of the tests.
	Program string
	// Variables are further ones of its environment, as NAME=VALUE.
	Variables []string
	// Values are further ones of the chart, by which its account and rights are made.
	Values map[string]any
	// AllNamespaces gives it all rights in the control plane instead of those of the chart, which are for some namespaces and
	// for this build.
	AllNamespaces bool
	// WithoutRemovalBudget leaves the flag of the removal budget out: earlier builds do not know it.
	WithoutRemovalBudget bool

	t           testing.TB
	environment *Environment
	process     *process.Process
}

// NewInstance is an instance with these flags for the environment's control plane and Temporal namespace. The test starts and
// stops it.
func (s *Environment) NewInstance(flags ...string) *Instance {
	return &Instance{t: s.T, environment: s, Flags: flags}
}

// Start starts the process and waits until it is ready.
func (i *Instance) Start() {
	i.t.Helper()
	i.Launch()
	require.Eventually(i.t, func() bool { return process.IsReady(i.Probe) || !i.process.Running() }, time.Minute, 50*time.Millisecond)
	if !i.process.Running() {
		i.PrintLog()
		i.t.Fatal("lifecycle-manager ended by itself")
	}
}

// Says waits until the log of the process has a text.
func (i *Instance) Says(text string, within time.Duration) {
	i.t.Helper()
	require.Eventually(i.t, func() bool {
		content, err := os.ReadFile(i.Log)
		return err == nil && strings.Contains(string(content), text)
	}, within, 100*time.Millisecond, "the log says %q", text)
}

// Errors are the lines of level error in its log.
func (i *Instance) Errors() []string {
	i.t.Helper()
	content, err := os.ReadFile(i.Log)
	require.NoError(i.t, err)
	var lines []string
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, `{"level":"error"`) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Launch starts the process, with the account and the rights that the chart gives it where nothing else is said, and does
// not wait.
func (i *Instance) Launch() {
	i.t.Helper()
	if i.Log == "" {
		i.Log = filepath.Join(i.t.TempDir(), "lifecycle-manager.log")
	}
	log, err := os.OpenFile(i.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(i.t, err)
	defer func() { _ = log.Close() }()
	i.Probe = process.FreeAddress(i.t)
	kubeconfig, more := i.environment.ControlPlane.Access, []string(nil)
	if !i.AllNamespaces {
		kubeconfig, more = i.environment.rights.give(i.Flags, i.Values)
	}
	if !i.WithoutRemovalBudget {
		// Tests remove more within an hour than the budget of a small fleet allows.
		more = append(more, "--removal-budget-min", "900")
	}
	if i.Container != nil {
		kubeconfig = i.Container.Add(kubeconfig)
	}
	args := append([]string{
		"run", "--kubeconfig", kubeconfig, "--metrics-bind-address", "0", "--health-probe-bind-address", i.Probe,
		"--resync-interval", i.environment.resyncInterval().String(), "--sweep-concurrency", atOnce, "--module-upgrade-rollout-max-delay", "0s", "--oci-registry-plain-http", i.environment.Registry,
		"--stop-timeout", "5s",
	}, append(more, i.Flags...)...)
	if i.Container != nil {
		i.process = process.StartCommand(i.t, log, i.Container.Command(append(i.environment.temporalVariables(), i.Variables...), args...))
		return
	}
	program := i.Program
	if program == "" {
		program = testfleet.Binary(i.t, "lifecycle-manager")
	}
	i.process = process.Start(i.t, log, append(i.environment.Variables(), i.Variables...), program, args...)
}

// Running reports whether the process runs.
func (i *Instance) Running() bool { return i.process != nil && i.process.Running() }

// Stop stops the process as a deployment would.
func (i *Instance) Stop() {
	if i.Running() {
		i.process.Stop(syscall.SIGTERM)
	}
}

// Kill ends the process at once.
func (i *Instance) Kill() {
	i.process.Stop(syscall.SIGKILL)
}

// PrintLog shows the end of the log of an instance whose test failed.
func (i *Instance) PrintLog() { printEnd(i.t, "the instance's log", i.Log) }

// printEnd shows the end of a log.
func printEnd(t testing.TB, what, path string) {
	content, err := os.ReadFile(path)
	if err != nil {
		return
	}
	lines := strings.Split(string(content), "\n")
	const most = 60
	t.Logf("%s ends with:\n%s", what, strings.Join(lines[max(0, len(lines)-most):], "\n"))
}
