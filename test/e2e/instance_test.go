package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// instance is Lifecycle Manager as a process.
type instance struct {
	t       testing.TB
	stage   *stage
	flags   []string
	process *process
	log     string
	probe   string
}

// start starts the process and waits until it is ready.
func (i *instance) start() {
	i.t.Helper()
	i.launch()
	require.Eventually(i.t, func() bool { return isReady(i.probe) || !i.process.running() }, time.Minute, 50*time.Millisecond)
	if !i.process.running() {
		i.printLog()
		i.t.Fatal("lifecycle-manager ended by itself")
	}
}

// says waits until the log of the process has a text.
func (i *instance) says(text string, within time.Duration) {
	i.t.Helper()
	require.Eventually(i.t, func() bool {
		content, err := os.ReadFile(i.log)
		return err == nil && strings.Contains(string(content), text)
	}, within, 100*time.Millisecond, "the log says %q", text)
}

// launch starts the process and does not wait.
func (i *instance) launch() {
	i.t.Helper()
	if i.log == "" {
		i.log = filepath.Join(i.t.TempDir(), "lifecycle-manager.log")
	}
	log, err := os.OpenFile(i.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(i.t, err)
	defer func() { _ = log.Close() }()
	i.probe = freeAddress(i.t)
	args := append([]string{
		"run", "--kubeconfig", i.stage.controlPlane.access, "--metrics-bind-address", "0", "--health-probe-bind-address", i.probe,
		"--resync-interval", resync.String(), "--sweep-concurrency", atOnce, "--module-upgrade-rollout-max-delay", "0s", "--oci-registry-plain-http", i.stage.registry,
		"--stop-timeout", "5s",
	}, i.flags...)
	i.process = startProcess(i.t, log, i.stage.environment(), testfleet.Binary(i.t, "lifecycle-manager"), args...)
}

func (i *instance) running() bool { return i.process != nil && i.process.running() }

// stop stops the process as a deployment would.
func (i *instance) stop() {
	if i.running() {
		i.process.stop(syscall.SIGTERM)
	}
}

// kill ends the process at whatever line it is.
func (i *instance) kill() {
	i.process.stop(syscall.SIGKILL)
}

// printLog shows the end of the log of an instance whose test failed.
func (i *instance) printLog() {
	content, err := os.ReadFile(i.log)
	if err != nil {
		return
	}
	lines := strings.Split(string(content), "\n")
	const most = 60
	i.t.Logf("the instance's log ends with:\n%s", strings.Join(lines[max(0, len(lines)-most):], "\n"))
}

// serveSamples runs the operator of the sample module for all clusters.
func (s *stage) serveSamples() {
	s.t.Helper()
	log, err := os.Create(filepath.Join(s.t.TempDir(), "sample-operator.log"))
	require.NoError(s.t, err)
	args := []string{"--kubeconfig", s.controlPlane.kubeconfig}
	for _, remote := range s.remotes {
		args = append(args, "--kubeconfig", remote.kubeconfig)
	}
	operator := startProcess(s.t, log, s.environment(), testfleet.Binary(s.t, "sample-operator"), args...)
	s.t.Cleanup(func() {
		operator.stop(syscall.SIGTERM)
		_ = log.Close()
	})
}
