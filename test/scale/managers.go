package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/scale/processes"
)

// manager is one process of Lifecycle Manager, which may be stopped and started again.
type manager struct {
	name            string
	metrics, probes int
	*processes.Process
}

// addManagers starts as many processes as were asked for.
func (e *environment) addManagers(ctx context.Context) error {
	ports, err := processes.FreePorts(2 * e.workers)
	if err != nil {
		return err
	}
	for i := range e.workers {
		name := "lifecycle-manager"
		if i > 0 {
			name += "-" + strconv.Itoa(i+1)
		}
		e.managers = append(e.managers, &manager{name: name, metrics: ports[2*i], probes: ports[2*i+1]})
	}
	return e.startManagers(ctx)
}

// startManagers starts all processes that do not run, and waits until all are ready.
func (e *environment) startManagers(ctx context.Context) error {
	for _, m := range e.managers {
		if m.Process != nil {
			continue
		}
		var err error
		if m.Process, err = e.start(e.managerProgram(m)); err != nil {
			return err
		}
	}
	for _, m := range e.managers {
		if err := processes.Until(ctx, 2*time.Minute, m.name+" is ready", func() (bool, error) {
			ready, err := isReadyAt(ctx, m.probes)
			if err != nil || ready {
				return ready, err
			}
			return false, m.Died()
		}); err != nil {
			return err
		}
	}
	return nil
}

func (e *environment) managerProgram(m *manager) processes.Program {
	// An account that priority and fairness do not exempt, and no pacing delay: all work comes at once.
	arguments := []string{
		"run", "--kubeconfig", e.fleet.ControlPlane.AccessKubeconfig, "--module-upgrade-rollout-max-delay", "0s",
		"--removal-budget-min", "900", "--removal-budget-window", "1s", // whole fleets are deleted
		"--oci-registry-host", e.fleet.Registry.Host, "--oci-registry-plain-http", e.fleet.Registry.Host,
		"--metrics-bind-address", processes.Local(m.metrics), "--health-probe-bind-address", processes.Local(m.probes),
	}
	if e.workers > 1 {
		// The one that leads also watches; all do the work.
		arguments = append(arguments, "--leader-elect", "--leader-election-namespace", kymaNamespace)
	}
	return processes.Program{
		Name: m.name, Path: e.manager, Arguments: append(arguments, e.scenario.ManagerFlags...),
		Variables: []string{"TEMPORAL_ADDRESS=" + e.fleet.Temporal.Address, "TEMPORAL_NAMESPACE=" + e.fleet.Temporal.Namespace},
	}
}

// stopManagers ends all processes, at once: in order, or as in a crash.
func (e *environment) stopManagers(kill bool) {
	ended := make(chan struct{})
	for _, m := range e.managers {
		go func() {
			defer func() { ended <- struct{}{} }()
			signal := m.Stop
			if kill {
				signal = syscall.SIGKILL
			}
			e.end(m.Process, signal)
			m.Process = nil
		}()
	}
	for range e.managers {
		<-ended
	}
}

func isReadyAt(ctx context.Context, port int) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+processes.Local(port)+"/readyz", http.NoBody)
	if err != nil {
		return false, fmt.Errorf("ask whether it is ready: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, nil //nolint:nilerr // it does not listen yet
	}
	return response.StatusCode == http.StatusOK, response.Body.Close()
}
