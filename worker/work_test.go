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

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/definitions"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/requeue"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

func newWork(t *testing.T, perCluster bool) (*Work, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	work, err := NewWork(registry, perCluster)
	require.NoError(t, err)
	return work, registry
}

// run executes the activity with this name on a worker that measures as its queue's worker does.
func run[T any](t *testing.T, work *Work, name string, in T, outcome error) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{work.interceptor(), &heartbeats{}}})
	env.RegisterActivityWithOptions(func(context.Context, T) error { return outcome }, activity.RegisterOptions{Name: name})
	_, err := env.ExecuteActivity(name, in)
	require.Equal(t, outcome == nil, err == nil)
}

func TestRequeuesAreCountedWithUpstreamsReasons(t *testing.T) {
	work, _ := newWork(t, true)
	manifest := kick.Ref{Namespace: "kcp-system", Name: "a-keda-1"}
	run(t, work, "ResolveKyma", 1, errors.New("conflict"))
	run(t, work, "FollowModules", 1, fault.New(fault.Pending, "Waiting", "not yet"))
	run(t, work, "ApplyManifest", install.ApplyInput{Ref: manifest}, nil)
	run(t, work, "ReleaseKyma", 1, nil)
	run(t, work, "AdmitPurge", 1, errors.New("not one of theirs"))
	require.NoError(t, testutil.CollectAndCompare(work.metrics.Requeues, strings.NewReader(`
# HELP lifecycle_mgr_requeue_reason_total Repeated steps, by reason and type: intended after a write or to wait for something, unexpected after a failure.
# TYPE lifecycle_mgr_requeue_reason_total counter
lifecycle_mgr_requeue_reason_total{requeue_reason="kyma_deletion",requeue_type="intended"} 1
lifecycle_mgr_requeue_reason_total{requeue_reason="manifest_reconciliation",requeue_type="unexpected"} 1
lifecycle_mgr_requeue_reason_total{requeue_reason="manifest_sync_resources_enqueue_required",requeue_type="intended"} 1
`)))
	reasons := upstreamsReasons()
	for name, step := range steps() {
		for _, reason := range []string{
			"", clusters.ReasonAccessSecretNotFound, clusters.ReasonUnreachableUnauthorized, artifacts.ReasonLayerNotFound,
			render.ReasonInvalidChart, definitions.ReasonNotSynced, syncing.ReasonAgent,
		} {
			require.Contains(t, reasons, step.failed(name, fault.Fault{Kind: fault.Rejected, Reason: reason}), "%s, %s", name, reason)
		}
		require.Contains(t, reasons, step.reason)
		require.Contains(t, reasons, step.failed(name, fault.Fault{Kind: fault.Unreachable}), name)
	}
	require.Equal(t, "manifest_client_init", steps()["ApplyManifest"].failed("ApplyManifest", fault.Fault{Kind: fault.Unreachable, Reason: clusters.ReasonUnreachableNetwork}))
	require.Equal(t, "manifest_unauthorized", steps()["FollowModules"].failed("FollowModules", fault.Fault{Kind: fault.Unreachable, Reason: clusters.ReasonUnreachableUnauthorized}))
	require.Equal(t, "kyma_under_deletion_with_no_access_secret", steps()["CleanupRemote"].failed("CleanupRemote", fault.Fault{Kind: fault.Unreachable, Reason: clusters.ReasonAccessSecretNotFound}))
	require.Equal(t, 1, testutil.CollectAndCount(work.metrics.Installs))
	require.Equal(t, 1, testutil.CollectAndCount(work.metrics.Manifests, "reconcile_duration_seconds"))
	run(t, work, "RemoveManifest", uninstall.RemoveInput{Ref: manifest}, nil)
	require.Zero(t, testutil.CollectAndCount(work.metrics.Manifests), "a removed Manifest must leave no series")
}

// One activity does at once what upstream's reconcilers do between two requeues.
func TestWritesOfSuccessfulActivitiesAreCountedAsRequeues(t *testing.T) {
	work, _ := newWork(t, true)
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{work.interceptor(), &heartbeats{}}})
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		for _, written := range []requeue.Reason{
			requeue.KymaLabelsAndFinalizers, requeue.KymaInitialState, requeue.KymaDeleting,
			requeue.ManifestAddFinalizer, requeue.ManifestFirstRef, requeue.ManifestOtherRef,
		} {
			require.Contains(t, upstreamsReasons(), string(written))
			requeue.Wrote(ctx, written)
		}
		return nil
	}, activity.RegisterOptions{Name: "ApplyManifest"})
	_, err := env.ExecuteActivity("ApplyManifest")
	require.NoError(t, err)
	require.Equal(t, 6, testutil.CollectAndCount(work.metrics.Requeues))
	require.InDelta(t, 1, testutil.ToFloat64(work.metrics.Requeues.WithLabelValues("manifest_add_finalizer", "intended")), 0)
}

// upstreamsReasons are the reasons of upstream's reconcilers of Kymas and Manifests (its package
// internal/pkg/metrics).
func upstreamsReasons() []string {
	return []string{
		"kyma_under_deletion_with_no_access_secret", "kyma_status_update_to_deleting", "labels_and_finalizers_update", "crd_annotations_update",
		"crds_sync", "manifest_reconciliation", "module_catalog_sync", "skr_webhook_installation", "initial_state_handling", "sync_context_retrieval",
		"remote_kyma_deletion", "spec_replacement_from_remote", "status_sync_to_remote", "processing_kyma_state", "finalizers_removal_from_remote_kyma",
		"remote_module_catalog_deletion", "manifest_crs_cleanup", "kyma_deletion", "kyma_retrieval",
		"manifest_type_cast", "manifest_retrieval", "manifest_initialize", "manifest_add_finalizer", "manifest_parse_spec",
		"manifest_update_synced_oci_ref", "manifest_init_synced_oci_ref", "manifest_remove_finalizer_in_deleting",
		"manifest_remove_finalizer_when_parse_spec", "manifest_remove_finalizer_when_secret_gone", "manifest_client_init",
		"manifest_render_resources", "manifest_prune_diff_not_finished", "manifest_prune_diff", "manifest_pre_delete_enqueue_required",
		"manifest_pre_delete", "manifest_sync_resources_enqueue_required", "manifest_sync_resources", "manifest_unauthorized",
	}
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
	require.Equal(t, 2, testutil.CollectAndCount(work.metrics.Requests), "one series for 4xx, one without an answer")
}

func TestTheTimeOfAChangeIsMeasuredWhenItIsApplied(t *testing.T) {
	work, registry := newWork(t, false)
	measured := func() (sum float64, count uint64) {
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			if family.GetName() == "lifecycle_mgr_kick_to_applied_seconds" {
				return family.GetMetric()[0].GetHistogram().GetSampleSum(), family.GetMetric()[0].GetHistogram().GetSampleCount()
			}
		}
		return 0, 0
	}
	in := install.ApplyInput{Ref: kick.Ref{Name: "a-keda-1"}, Since: time.Now().Add(-time.Minute)}
	apply := func(outcome manifests.Outcome, in install.ApplyInput, err error) float64 {
		suite := testsuite.WorkflowTestSuite{}
		env := suite.NewTestActivityEnvironment()
		env.SetWorkerOptions(sdkworker.Options{Interceptors: []interceptor.WorkerInterceptor{work.interceptor(), &heartbeats{}}})
		env.RegisterActivityWithOptions(func(context.Context, install.ApplyInput) (install.ApplyResult, error) {
			return install.ApplyResult{Outcome: outcome}, err
		}, activity.RegisterOptions{Name: "ApplyManifest"})
		_, _ = env.ExecuteActivity("ApplyManifest", in)
		sum, _ := measured()
		return sum
	}
	require.Zero(t, apply(manifests.OutcomeIncomplete, in, nil))
	require.Zero(t, apply(manifests.OutcomeApplied, in, errors.New("no connection")))
	require.Zero(t, apply(manifests.OutcomeApplied, install.ApplyInput{Ref: in.Ref}, nil), "without a start time")
	require.InDelta(t, 60, apply(manifests.OutcomeApplied, in, nil), 30)

	found := []install.Installed{
		{Ref: in.Ref, Result: install.ApplyResult{Outcome: manifests.OutcomeApplied}}, {Ref: kick.Ref{Name: "b"}, Later: true},
	}
	work.done("ReconcileInBackground", []any{background.Input{}}, background.Result{Installed: found}, nil, time.Minute)
	sum, count := measured()
	require.InDelta(t, 120, sum, 30, "a change that no watcher saw counts from the start of the activity")
	require.EqualValues(t, 2, count)
}
