package worker

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
)

func newWork(t *testing.T, perCluster bool) (*Work, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	work, err := NewWork(registry, perCluster)
	require.NoError(t, err)
	return work, registry
}

// run executes an activity of that name on a worker that measures, as its queue has it.
func run[T any](t *testing.T, work *Work, name string, in T, outcome error) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{work.interceptor(), &heartbeats{}}})
	env.RegisterActivityWithOptions(func(context.Context, T) error { return outcome }, activity.RegisterOptions{Name: name})
	_, err := env.ExecuteActivity(name, in)
	require.Equal(t, outcome == nil, err == nil)
}

func TestWhatIsTakenAgainIsCountedInTheWordsOfTodaysGeneration(t *testing.T) {
	work, _ := newWork(t, true)
	manifest := kick.Ref{Namespace: "kcp-system", Name: "a-keda-1"}
	run(t, work, "ResolveKyma", 1, errors.New("conflict"))
	run(t, work, "WaitManifest", 1, fault.New(fault.Pending, "Waiting", "not yet"))
	run(t, work, "ApplyManifest", install.ApplyInput{Ref: manifest}, nil)
	run(t, work, "ReleaseKyma", 1, nil)
	run(t, work, "SendPurge", 1, errors.New("not one of theirs"))
	require.NoError(t, testutil.CollectAndCompare(work.metrics.Requeues, strings.NewReader(`
# HELP lifecycle_mgr_requeue_reason_total Steps that are taken again, by what they do: intended where something is waited for or done, unexpected where something failed.
# TYPE lifecycle_mgr_requeue_reason_total counter
lifecycle_mgr_requeue_reason_total{requeue_reason="kyma_deletion",requeue_type="intended"} 1
lifecycle_mgr_requeue_reason_total{requeue_reason="manifest_reconciliation",requeue_type="unexpected"} 1
lifecycle_mgr_requeue_reason_total{requeue_reason="manifest_sync_resources_enqueue_required",requeue_type="intended"} 1
`)))
	require.Equal(t, 1, testutil.CollectAndCount(work.metrics.Installs))
	require.Equal(t, 1, testutil.CollectAndCount(work.metrics.Manifests, "reconcile_duration_seconds"))
	run(t, work, "RemoveManifest", uninstall.RemoveInput{Ref: manifest}, nil)
	require.Zero(t, testutil.CollectAndCount(work.metrics.Manifests), "a Manifest that goes leaves no series")
}

func TestSeriesPerClusterCanBeSwitchedOff(t *testing.T) {
	work, registry := newWork(t, false)
	run(t, work, "ApplyManifest", install.ApplyInput{Ref: kick.Ref{Name: "a-keda-1"}}, nil)
	families, err := registry.Gather()
	require.NoError(t, err)
	var names []string
	for _, family := range families {
		names = append(names, family.GetName())
	}
	require.Equal(t, []string{"lifecycle_mgr_fips_mode", "lifecycle_mgr_install_duration_seconds", "lifecycle_mgr_kick_to_applied_seconds"}, names)
}

func TestRequestsToRemoteClustersAreMeasuredWithoutNamingThem(t *testing.T) {
	work, _ := newWork(t, false)
	server := httptest.NewServer(http.NotFoundHandler())
	client := http.Client{Transport: work.Transport(http.DefaultTransport)}
	response, err := client.Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	server.Close()
	_, err = client.Get(server.URL) // there is no answer
	require.Error(t, err)
	require.Equal(t, 2, testutil.CollectAndCount(work.metrics.Requests), "one for 4xx, one without an answer")
}

func TestHowLongAChangeTookIsMeasuredOnceItIsApplied(t *testing.T) {
	work, registry := newWork(t, false)
	in := install.ApplyInput{Ref: kick.Ref{Name: "a-keda-1"}, Since: time.Now().Add(-time.Minute)}
	apply := func(outcome manifests.Outcome, in install.ApplyInput, err error) float64 {
		suite := testsuite.WorkflowTestSuite{}
		env := suite.NewTestActivityEnvironment()
		env.SetWorkerOptions(sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{work.interceptor(), &heartbeats{}}})
		env.RegisterActivityWithOptions(func(context.Context, install.ApplyInput) (install.ApplyResult, error) {
			return install.ApplyResult{Outcome: outcome}, err
		}, activity.RegisterOptions{Name: "ApplyManifest"})
		_, _ = env.ExecuteActivity("ApplyManifest", in)
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			if family.GetName() == "lifecycle_mgr_kick_to_applied_seconds" {
				return family.GetMetric()[0].GetHistogram().GetSampleSum()
			}
		}
		return 0
	}
	require.Zero(t, apply(manifests.OutcomeIncomplete, in, nil))
	require.Zero(t, apply(manifests.OutcomeApplied, in, errors.New("no connection")))
	require.Zero(t, apply(manifests.OutcomeApplied, install.ApplyInput{Ref: in.Ref}, nil), "nobody says since when")
	require.InDelta(t, 60, apply(manifests.OutcomeApplied, in, nil), 30)
}
