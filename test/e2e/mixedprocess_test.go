package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

const (
	previousBuild, thisBuild = true, false
	// What the two builds say of themselves (test/build).
	previousVersion, thisVersion = "0.0.0-0.previous", "0.0.0-dev"
)

// mixedProcess is one of the processes of the instance, which is now of one build and now of the other.
type mixedProcess struct {
	*harness.Instance
	name, metrics string
	previous      bool
	s             *harness.Environment
}

// addProcesses prepares two processes that watch and work, of which one leads.
func (m *mixedRun) addProcesses() {
	m.t.Helper()
	second := m.NewInstance()
	m.t.Cleanup(func() {
		second.Stop()
		if m.t.Failed() {
			second.PrintLog()
		}
	})
	for i, instance := range []*harness.Instance{m.Instance, second} {
		metrics := process.FreeAddress(m.t)
		instance.WithoutRemovalBudget = true
		instance.AllNamespaces = true // the chart gives the rights of this build only; the test of the chart has those of both
		instance.Flags = append(instance.Flags, "--metrics-bind-address", metrics, "--leader-elect", "--leader-election-namespace", harness.ControlPlaneNamespace,
			"--leader-election-lease-duration", "10s", "--leader-election-renew-deadline", "8s", "--leader-election-retry-period", "1s")
		m.processes = append(m.processes, &mixedProcess{Instance: instance, name: []string{"first", "second"}[i], metrics: metrics, s: m.Environment})
	}
}

// run replaces the processes one after the other, until each is of the build that is asked for, and waits until they
// are ready.
func (m *mixedRun) run(phase string, previous ...bool) {
	m.t.Helper()
	m.t.Logf("%s: %s", time.Now().Format(time.TimeOnly), phase)
	for i, p := range m.processes {
		if p.Running() && p.previous == previous[i] {
			continue
		}
		if !p.Running() {
			p.begin(previous[i])
		} else {
			m.replace(i, previous[i])
		}
	}
	for _, p := range m.processes {
		require.Eventually(m.t, func() bool { return process.IsReady(p.Probe) || !p.Running() }, 2*time.Minute, 50*time.Millisecond, "the %s process is ready", p.name)
	}
	m.checkProcesses()
}

// replace kills a process, or now and then stops it as a deployment would, and starts one of a build in its place.
func (m *mixedRun) replace(number int, previous bool) {
	m.t.Helper()
	p := m.processes[number]
	m.checkProcesses()
	p.checkTasks()
	if m.random.IntN(4) == 0 {
		p.Stop()
	} else {
		p.Kill()
	}
	p.begin(previous)
}

// checkProcesses checks that no process has ended by itself, as one does whose settings are no longer those of its
// instance.
func (m *mixedRun) checkProcesses() {
	m.t.Helper()
	require.NoError(m.t, m.revive())
}

// revive starts a process again that could not renew its lease in time, on a busy machine. That one has ended for any other
// reason is an error.
func (m *mixedRun) revive() error {
	for _, p := range m.processes {
		if p.Running() {
			continue
		}
		log, err := os.ReadFile(p.Log)
		if err != nil {
			return err
		}
		const end = 2000
		if said := string(log[max(0, len(log)-end):]); !strings.Contains(said, "leader election lost") {
			return fmt.Errorf("the %s process (previous release: %t) ended by itself: %s", p.name, p.previous, said)
		}
		m.t.Logf("the %s process could not renew its lease", p.name)
		p.begin(p.previous)
	}
	return nil
}

func (p *mixedProcess) begin(previous bool) {
	p.s.T.Helper()
	p.previous, p.Program = previous, ""
	if previous {
		p.Program = testfleet.Binary(p.s.T, filepath.Join("previous", "lifecycle-manager"))
	}
	p.Launch()
}

// checkTasks checks by its metrics that no workflow task of a process failed. They say also what the histories do not:
// that a task failed again.
func (p *mixedProcess) checkTasks() {
	p.s.T.Helper()
	failures, err := process.Series(p.metrics, "lifecycle_mgr_workflow_task_failures_total")
	if err != nil {
		return // it does not serve them yet, so that it has done no task either
	}
	assert.Empty(p.s.T, failures, "workflow tasks of the %s process, previous release: %t", p.name, p.previous)
}
