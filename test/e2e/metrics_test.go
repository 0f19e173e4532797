package e2e

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/docs"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// notOurs are the beginnings of names that others chose.
var notOurs = []string{"temporal_", "controller_runtime_", "workqueue_", "rest_client_", "go_", "process_", "certwatcher_", "leader_election_"}

// assertExports requires that what the page about operating explains is what a process exports that has installed one sample, and
// that nothing has a name that `promtool check metrics` objects to.
func assertExports(t *testing.T, s *harness.Environment, address string) {
	t.Helper()
	var exposition []byte
	s.Eventually("the leader has measured the fleet", 90*time.Second, func(c *assert.CollectT) {
		exposition = expositionOf(t, address)
		for _, series := range []string{
			`lifecycle_mgr_clusters{reason="Reachable"} 1`,
			`lifecycle_mgr_module_version_manifests{module="sample",state="Ready",version="1.0.0"} 1`,
			`lifecycle_mgr_oldest_unsettled_seconds{kind="Manifest"} 0`,
			`lifecycle_mgr_open_workflows{type="KymaWorkflow"} 1`,
			`lifecycle_mgr_open_workflows{type="SweepWorkflow"} 8`,
			`lifecycle_mgr_sweep_lag_seconds `,
			`lifecycle_mgr_kick_to_applied_seconds_count 1`,
			`lifecycle_mgr_task_queue_backlog_age_seconds{kind="activity",task_queue="lifecycle-manager-remote"} 0`,
			`lifecycle_mgr_artifact_cache_requests_total{kind="layer",result="miss"}`,
			`lifecycle_mgr_registry_requests_total{result="ok"}`,
			`rest_client_requests_total{code="200",host="remote",method="PATCH"}`,
			`rest_client_rate_limiter_duration_seconds_count{host="control-plane",verb="GET"}`,
			`lifecycle_mgr_requeue_reason_total{requeue_reason="labels_and_finalizers_update",requeue_type="intended"} 1`,
			`lifecycle_mgr_requeue_reason_total{requeue_reason="initial_state_handling",requeue_type="intended"} 1`,
			`lifecycle_mgr_requeue_reason_total{requeue_reason="manifest_add_finalizer",requeue_type="intended"} 1`,
			`lifecycle_mgr_requeue_reason_total{requeue_reason="manifest_init_synced_oci_ref",requeue_type="intended"} 1`,
		} {
			assert.Contains(c, string(exposition), "\n"+series)
		}
	})

	for line := range strings.Lines(string(exposition)) {
		if strings.HasPrefix(line, "rest_client_") {
			assert.Regexp(t, `host="(control-plane|remote)"`, line)
		}
	}

	assert.NotRegexp(t, `# HELP \S+ [^A-Za-z\n]`, string(exposition), "scripts take a number behind the name for the value")

	page, err := docs.Pages.ReadFile("operating.md")
	require.NoError(t, err)
	for _, line := range strings.Split(string(exposition), "\n") {
		if name, isType := strings.CutPrefix(line, "# TYPE lifecycle_mgr_"); isType {
			name, _, _ = strings.Cut(name, " ")
			assert.Contains(t, string(page), "`lifecycle_mgr_"+name+"`", "docs/operating.md does not explain it")
		}
	}
	problems, err := promlint.New(bytes.NewReader(exposition)).Lint()
	require.NoError(t, err)
	for _, problem := range problems {
		foreign := slices.ContainsFunc(notOurs, func(start string) bool { return strings.HasPrefix(problem.Metric, start) })
		assert.True(t, foreign, "%s: %s", problem.Metric, problem.Text)
	}
}

func expositionOf(t *testing.T, address string) []byte {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics") //nolint:noctx // of a test
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return content
}
