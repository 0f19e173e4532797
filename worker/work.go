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

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/metrics"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
)

// Work measures the activities of workers and the requests to remote clusters.
type Work struct{ metrics *metrics.Work }

// NewWork registers the metrics; perCluster says whether those are wanted that have a series per Manifest.
func NewWork(registry prometheus.Registerer, perCluster bool) (*Work, error) {
	measured, err := metrics.NewWork(registry, perCluster)
	return &Work{metrics: measured}, err
}

// requeueReasons are the words of today's generation for what the activities do.
func requeueReasons() map[string]string {
	return map[string]string{
		"SyncRemote":       "module_catalog_sync",
		"LookInBackground": "module_catalog_sync",
		"ResolveKyma":      "manifest_reconciliation",
		"ReportKyma":       "status_sync_to_remote",
		"DeleteManifests":  "cleanup_manifest_crs",
		"CleanupRemote":    "kyma_deletion",
		"ReleaseKyma":      "kyma_deletion",
		"ApplyManifest":    "manifest_sync_resources",
		"EnsureDefaultCR":  "manifest_sync_resources",
		"WaitManifest":     "manifest_sync_resources_enqueue_required",
		"RemoveManifest":   "manifest_pre_delete",
		"PurgeManifest":    "manifest_pre_delete",
		"WaitRemoval":      "manifest_pre_delete_enqueue_required",
		"ReportManifest":   "manifest_reconcile_finished",
	}
}

const (
	intended   = "intended"
	unexpected = "unexpected"
)

// done counts the end of an activity.
func (w *Work) done(name string, args []any, result any, err error, took time.Duration) {
	w.measureApplied(args, result, err)
	reason, known := requeueReasons()[name]
	if !known {
		return
	}
	var failure *temporal.ApplicationError
	switch {
	case temporal.IsCanceledError(err):
	case errors.As(err, &failure) && failure.Category() == temporal.ApplicationErrorCategoryBenign:
		w.metrics.Requeues.WithLabelValues(reason, intended).Inc()
	case err != nil:
		w.metrics.Requeues.WithLabelValues(reason, unexpected).Inc()
	case name == "ReleaseKyma", name == "ReportManifest":
		w.metrics.Requeues.WithLabelValues(reason, intended).Inc()
	case name == "ApplyManifest":
		w.metrics.Installs.Observe(took.Seconds())
	}
	w.measure(args, err, took)
}

// measureApplied measures how long a change took that is applied now. Clocks of processes may differ a little.
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

// measure keeps the series of a Manifest while it is worked on.
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

// Transport measures requests to a remote cluster, until the answer begins. It has no label for the cluster.
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
	result, err := m.Next.ExecuteActivity(ctx, in)
	m.work.done(activity.GetInfo(ctx).ActivityType.Name, in.Args, result, err, time.Since(began))
	return result, err
}
