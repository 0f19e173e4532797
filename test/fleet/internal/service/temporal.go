// Package service knows how to run the fleet's single servers: Temporal and the
// OCI registry.
package service

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

// Namespace is Temporal's namespace that is there from the start.
const Namespace = "default"

// Temporal is the Temporal dev server with its place on this machine.
type Temporal struct {
	state.Temporal

	// Dir is the folder of its database.
	Dir string
}

// Database is the SQLite file with everything that Temporal remembers.
func (t Temporal) Database() string { return filepath.Join(t.Dir, "temporal.db") }

// Complete is the file that exists once Temporal was ready for the first time.
// A database without it may be half made, which the server takes for whole.
func (t Temporal) Complete() string { return filepath.Join(t.Dir, "complete") }

// RemoveData throws away the database.
func (t Temporal) RemoveData() error {
	if err := os.RemoveAll(t.Dir); err != nil {
		return fmt.Errorf("remove Temporal's database: %w", err)
	}
	return nil
}

// MakeFolders makes the folder of the database.
func (t Temporal) MakeFolders() error {
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return fmt.Errorf("folder of Temporal's database: %w", err)
	}
	return nil
}

// Address is where Temporal's clients connect.
func (t Temporal) Address() string { return ports.Address(t.Frontend.Number) }

// UIURL is the address of the web interface.
func (t Temporal) UIURL() string { return "http://" + ports.Address(t.UI.Number) }

// MetricsURL is the address of the server's own metrics.
func (t Temporal) MetricsURL() string {
	return "http://" + ports.Address(t.Metrics.Number) + "/metrics"
}

// Args are the server's arguments.
func (t Temporal) Args() []string {
	args := []string{
		"server", "start-dev",
		"--ip=" + ports.Loopback,
		"--port=" + strconv.Itoa(t.Frontend.Number),
		"--http-port=" + strconv.Itoa(t.HTTP.Number),
		"--metrics-port=" + strconv.Itoa(t.Metrics.Number),
		"--ui-ip=" + ports.Loopback,
		"--ui-port=" + strconv.Itoa(t.UI.Number),
		"--headless=false",
		"--db-filename=" + t.Database(),
		// What was written survives the process, not the machine: the same as
		// for etcd, and several times as fast.
		"--sqlite-pragma=journal_mode=wal",
		"--sqlite-pragma=synchronous=off",
		// Tasks are served by priority, and in turn between tenants (docs/operating.md). In the oldest release both are off by
		// default, in the present one fairness is.
		"--dynamic-config-value", "matching.useNewMatcher=true",
		"--dynamic-config-value", "matching.enableFairness=true",
		// Operators may pause workflows, and the second failed workflow task in a row is reported instead of the fifth, which
		// takes more than a minute. The oldest release does not know either.
		"--dynamic-config-value", "frontend.WorkflowPauseEnabled=true",
		"--dynamic-config-value", "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=2",
		// A single server gains nothing from partitions, between which tasks and polls are passed on.
		"--dynamic-config-value", "matching.numTaskqueueReadPartitions=1",
		"--dynamic-config-value", "matching.numTaskqueueWritePartitions=1",
		"--log-level=warn",
	}
	if !t.Oldest {
		args = append(args, "--ui-disable-news-fetch")
	}
	return args
}

// Env keeps the server from asking its makers for newer versions: a fleet talks
// to nobody outside this machine.
func (t Temporal) Env() []string { return []string{"TEMPORAL_VERSION_CHECK_DISABLED=1"} }

// Ready returns nil when the server answers for its namespace, its list of
// workflows can be read, and the web interface is served.
func (t Temporal) Ready(ctx context.Context) error {
	base := "http://" + ports.Address(t.HTTP.Number) + "/api/v1/namespaces/" + Namespace
	for _, url := range []string{base, base + "/workflows?pageSize=1", t.UIURL() + "/"} {
		if _, err := get(ctx, url, "", ""); err != nil {
			return fmt.Errorf("Temporal: %w", err)
		}
	}
	return nil
}

// get fetches an URL and returns the headers of a successful answer.
func get(ctx context.Context, url, username, password string) (http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", url, err)
	}
	if username != "" {
		request.SetBasicAuth(username, password)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return response.Header, nil
}
