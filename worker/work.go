package worker

import (
	"context"
	"crypto/fips140"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
)

// Work measures what the workers do, under the names that dashboards of today's generation ask for
// (docs/contract.md#metrics), and a few of ours.
type Work struct {
	requeues *prometheus.CounterVec
	installs prometheus.Histogram
	requests *prometheus.HistogramVec
	// manifests is nil where no series are wanted that there is one of per cluster.
	manifests *prometheus.GaugeVec
}

// NewWork registers the metrics; perCluster says whether those are wanted that have a series per Manifest.
func NewWork(registry prometheus.Registerer, perCluster bool) (*Work, error) {
	w := &Work{
		requeues: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_mgr_requeue_reason_total",
			Help: "Steps that are taken again, by what they do: intended where something is waited for or done, unexpected where something failed.",
		}, []string{"requeue_reason", "requeue_type"}),
		installs: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "lifecycle_mgr_install_duration_seconds",
			Help:    "How long it took to apply a module to a cluster, without the time until it is ready.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 12),
		}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lifecycle_mgr_remote_request_duration_seconds",
			Help:    "How long remote clusters took to answer requests, by method and kind of answer.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 13),
		}, []string{"method", "code"}),
	}
	fips := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_fips_mode", Help: "The FIPS 140-3 mode: 0 is off, 1 is on, 2 allows nothing else.",
	}, fipsMode)
	collectors := []prometheus.Collector{w.requeues, w.installs, w.requests, fips}
	if perCluster {
		w.manifests = prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "reconcile_duration_seconds", Help: "How long the last look at a Manifest took that applied it.",
		}, []string{"manifest_name"})
		collectors = append(collectors, w.manifests)
	}
	for _, collector := range collectors {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of the work: %w", err)
		}
	}
	return w, nil
}

func fipsMode() float64 {
	switch {
	case fips140.Enforced():
		return 2
	case fips140.Enabled():
		return 1
	default:
		return 0
	}
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
func (w *Work) done(name string, args []any, err error, took time.Duration) {
	reason, known := requeueReasons()[name]
	if !known {
		return
	}
	var failure *temporal.ApplicationError
	switch {
	case temporal.IsCanceledError(err):
	case errors.As(err, &failure) && failure.Category() == temporal.ApplicationErrorCategoryBenign:
		w.requeues.WithLabelValues(reason, intended).Inc()
	case err != nil:
		w.requeues.WithLabelValues(reason, unexpected).Inc()
	case name == "ReleaseKyma", name == "ReportManifest":
		w.requeues.WithLabelValues(reason, intended).Inc()
	case name == "ApplyManifest":
		w.installs.Observe(took.Seconds())
	}
	w.measure(args, err, took)
}

// measure keeps the series of a Manifest while it is worked on.
func (w *Work) measure(args []any, err error, took time.Duration) {
	if w.manifests == nil || err != nil || len(args) == 0 {
		return
	}
	switch in := args[0].(type) {
	case install.ApplyInput:
		w.manifests.WithLabelValues(in.Ref.Name).Set(took.Seconds())
	case uninstall.RemoveInput:
		w.manifests.DeleteLabelValues(in.Ref.Name)
	}
}

// Transport measures requests to a remote cluster, until the answer begins. It has no label for the cluster.
func (w *Work) Transport(next http.RoundTripper) http.RoundTripper {
	return measuredTransport{next: next, requests: w.requests}
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
	m.work.done(activity.GetInfo(ctx).ActivityType.Name, in.Args, err, time.Since(began))
	return result, err
}
