package metrics

import (
	"crypto/fips140"

	"github.com/prometheus/client_golang/prometheus"
)

// Work measures the work of the workers, under the names that upstream's dashboards use, and a few of ours.
type Work struct {
	// Requeues counts repeated steps, by requeue_reason and requeue_type.
	Requeues *prometheus.CounterVec
	// Installs measures how long it takes to apply a module.
	Installs prometheus.Histogram
	// Applied measures the time from a change that a watcher sees until the module is applied.
	Applied prometheus.Histogram
	// Requests measures requests to remote clusters, by method and code.
	Requests *prometheus.HistogramVec
	// Manifests has one series per Manifest. It is nil if metrics with a series per cluster are off.
	Manifests *prometheus.GaugeVec
}

// NewWork registers the metrics. With perCluster it also registers those with a series per Manifest.
func NewWork(registry prometheus.Registerer, perCluster bool) (*Work, error) {
	w := &Work{
		Requeues: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_mgr_requeue_reason_total",
			Help: "Repeated steps, by reason and type: intended after a write or to wait for something, unexpected after a failure.",
		}, []string{"requeue_reason", "requeue_type"}),
		Installs: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "lifecycle_mgr_install_duration_seconds",
			Help:    "Time to apply a module to a cluster, without the time until it is ready.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 12),
		}),
		Applied: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "lifecycle_mgr_kick_to_applied_seconds",
			Help:    "Time from a change that a watcher sees until the module is applied, without the time until it is ready.",
			Buckets: prometheus.ExponentialBuckets(0.25, 2, 14),
		}),
		Requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lifecycle_mgr_remote_request_duration_seconds",
			Help:    "Response time of remote clusters, by method and kind of response.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 13),
		}, []string{"method", "code"}),
	}
	fips := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_fips_mode", Help: "The FIPS 140-3 mode: 0 is off, 1 is on, 2 refuses everything else.",
	}, fipsMode)
	collectors := []prometheus.Collector{w.Requeues, w.Installs, w.Applied, w.Requests, fips}
	if perCluster {
		w.Manifests = prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "reconcile_duration_seconds", Help: "Duration of the last reconcile that applied the Manifest.",
		}, []string{"manifest_name"})
		collectors = append(collectors, w.Manifests)
	}
	return w, register(registry, "the work", collectors...)
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
