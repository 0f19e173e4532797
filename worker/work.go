package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/definitions"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
	"github.com/kyma-project/lifecycle-manager/internal/platform/requeue"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// Work measures the activities of workers and the requests to remote clusters.
type Work struct{ metrics *metrics.Work }

// NewWork registers the metrics. With perCluster, it also registers those with one series per Manifest.
func NewWork(registry prometheus.Registerer, perCluster bool) (*Work, error) {
	measured, err := metrics.NewWork(registry, perCluster)
	return &Work{metrics: measured}, err
}

// step holds the requeue reasons of upstream's metrics for an activity: reason for the activity itself, unreachable
// if the cluster cannot be reached.
type step struct{ reason, unreachable string }

// steps returns the activities that do the work of upstream's reconcilers, by name. It uses only upstream's reasons,
// because its dashboards and alerts know no others.
func steps() map[string]step {
	const ofKyma, ofManifest = "sync_context_retrieval", "manifest_client_init"
	return map[string]step{
		"SyncRemote":            {"module_catalog_sync", ofKyma},
		"ReconcileInBackground": {"module_catalog_sync", ofKyma},
		"ResolveKyma":           {"manifest_reconciliation", ofKyma},
		"ReportKyma":            {"status_sync_to_remote", ofKyma},
		"ReportModules":         {"status_sync_to_remote", ofKyma},
		"DeleteManifests":       {"manifest_crs_cleanup", ofKyma},
		"CleanupRemote":         {"remote_kyma_deletion", ofKyma},
		"CleanUpAndRelease":     {"remote_kyma_deletion", ofKyma},
		"ReleaseKyma":           {"kyma_deletion", ofKyma},
		"ApplyManifest":         {"manifest_sync_resources", ofManifest},
		"EnsureDefaultCR":       {"manifest_sync_resources", ofManifest},
		"FollowModules":         {"manifest_sync_resources_enqueue_required", ofManifest},
		"RemoveManifest":        {"manifest_pre_delete", ofManifest},
		"PurgeManifest":         {"manifest_pre_delete", ofManifest},
		"WaitRemoval":           {"manifest_pre_delete_enqueue_required", ofManifest},
	}
}

// failed returns the reason for a failure of an activity.
func (s step) failed(name string, f fault.Fault) string {
	ofManifest := s.unreachable == "manifest_client_init"
	switch f.Reason {
	case clusters.ReasonAccessSecretNotFound:
		if name == "CleanupRemote" || name == "CleanUpAndRelease" || name == "DeleteManifests" {
			return "kyma_under_deletion_with_no_access_secret"
		}
		return s.unreachable
	case clusters.ReasonUnreachableUnauthorized, clusters.ReasonUnreachableForbidden:
		if ofManifest {
			return "manifest_unauthorized"
		}
	case artifacts.ReasonInvalidReference, artifacts.ReasonRegistryNotAllowed, artifacts.ReasonLayerNotFound, artifacts.ReasonDigestMismatch, artifacts.ReasonRegistryUnavailable, artifacts.ReasonRegistryUnauthorized:
		if ofManifest {
			return "manifest_parse_spec"
		}
	case render.ReasonLayerTooLarge, render.ReasonInvalidManifest, render.ReasonInvalidChart, render.ReasonUnsupported, render.ReasonRendererFailed:
		return "manifest_render_resources"
	case definitions.ReasonNotSynced:
		return "crds_sync"
	case syncing.ReasonAgent, syncing.ReasonNoRuntimeID:
		return "skr_webhook_installation"
	}
	if f.Kind == fault.Unreachable {
		return s.unreachable
	}
	return s.reason
}

const (
	intended   = "intended"
	unexpected = "unexpected"
)

// done records the end of an activity.
func (w *Work) done(name string, args []any, result any, err error, took time.Duration) {
	w.doneTogether(args, result, took)
	w.measureApplied(args, result, err)
	step, known := steps()[name]
	if !known {
		return
	}
	var failure *temporal.ApplicationError
	switch {
	case temporal.IsCanceledError(err):
	case errors.As(err, &failure) && failure.Category() == temporal.ApplicationErrorCategoryBenign:
		w.metrics.Requeues.WithLabelValues(step.reason, intended).Inc()
	case err != nil:
		w.metrics.Requeues.WithLabelValues(step.failed(name, fault.FromTemporal(err)), unexpected).Inc()
	case name == "ReleaseKyma":
		w.metrics.Requeues.WithLabelValues(step.reason, intended).Inc()
	case name == "ApplyManifest":
		w.metrics.Installs.Observe(took.Seconds())
	}
	w.measure(args, err, took)
}

// doneTogether records modules that one activity installed together, as if ApplyManifest had installed each. It also
// records modules that an activity could not read.
func (w *Work) doneTogether(args []any, result any, took time.Duration) {
	var all []install.Installed
	var since time.Time
	switch r := result.(type) {
	case []install.Installed:
		if in, ok := args[0].(install.ModulesInput); ok {
			all, since = r, in.Since
		}
	case background.Result:
		if in, ok := args[0].(background.Input); ok {
			all, since = r.Installed, in.Since
			if since.IsZero() {
				since = time.Now().Add(-took) // No watcher saw the change before this activity.
			}
		}
	}
	if followed, ok := result.([]install.ModuleNews); ok {
		for _, news := range followed {
			if !news.Fault.IsZero() {
				w.metrics.Requeues.WithLabelValues(steps()["FollowModules"].failed("FollowModules", news.Fault), unexpected).Inc()
			}
		}
	}
	if cleaned, ok := result.(background.CleanUpResult); ok && cleaned.Released != nil {
		w.done("ReleaseKyma", nil, nil, nil, took)
	}
	for _, one := range all {
		if !one.Later {
			w.done("ApplyManifest", []any{install.ApplyInput{Ref: one.Ref, Since: since}}, one.Result, nil, took)
		}
	}
}

// wrote counts a write after which upstream's reconcilers would requeue the object.
func (w *Work) wrote(reason requeue.Reason) {
	w.metrics.Requeues.WithLabelValues(string(reason), intended).Inc()
}

// measureApplied measures the time from a change to its application. Clocks of processes may differ a little.
func (w *Work) measureApplied(args []any, result any, err error) {
	if err != nil || len(args) == 0 {
		return
	}
	in, isApply := args[0].(install.ApplyInput)
	applied, isResult := result.(install.ApplyResult)
	if isApply && isResult && applied.Outcome == manifests.OutcomeApplied && !in.Since.IsZero() {
		w.metrics.Applied.Observe(max(time.Since(in.Since), 0).Seconds())
	}
}

// measure keeps the series of a Manifest while the Manifest exists.
func (w *Work) measure(args []any, err error, took time.Duration) {
	if w.metrics.Manifests == nil || err != nil || len(args) == 0 {
		return
	}
	switch in := args[0].(type) {
	case install.ApplyInput:
		w.metrics.Manifests.WithLabelValues(in.Ref.Name).Set(took.Seconds())
	case uninstall.RemoveInput:
		w.metrics.Manifests.DeleteLabelValues(in.Ref.Name)
	}
}

// Transport measures requests to a remote cluster until the response begins. The metric has no label for the cluster.
func (w *Work) Transport(next http.RoundTripper) http.RoundTripper {
	return measuredTransport{next: next, requests: w.metrics.Requests}
}

type measuredTransport struct {
	next     http.RoundTripper
	requests *prometheus.HistogramVec
}

// RoundTrip implements http.RoundTripper.
func (t measuredTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := t.next.RoundTrip(request)
	code := "none"
	if err == nil {
		code = fmt.Sprintf("%dxx", response.StatusCode/100)
	}
	t.requests.WithLabelValues(request.Method, code).Observe(time.Since(began).Seconds())
	return response, err
}

// interceptor measures every activity of a worker.
func (w *Work) interceptor() interceptor.WorkerInterceptor { return &measuring{work: w} }

type measuring struct {
	interceptor.WorkerInterceptorBase
	work *Work
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (m *measuring) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	measured := &measuredActivity{work: m.work}
	measured.Next = next
	return measured
}

type measuredActivity struct {
	interceptor.ActivityInboundInterceptorBase
	work *Work
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (m *measuredActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	began := time.Now()
	result, err := m.Next.ExecuteActivity(requeue.Counting(ctx, m.work.wrote), in)
	m.work.done(activity.GetInfo(ctx).ActivityType.Name, in.Args, result, err, time.Since(began))
	return result, err
}
