package metrics

import (
	"crypto/fips140"

	"github.com/prometheus/client_golang/prometheus"
)

// Work measures what the workers do, under the names that dashboards of today's generation ask for, and a few of ours.
type Work struct {
	// Requeues counts steps that are taken again, by requeue_reason and requeue_type.
	Requeues *prometheus.CounterVec
	// Installs measures how long it took to apply a module.
	Installs prometheus.Histogram
	// Applied measures how long it took from a change that a watcher saw until it was applied.
	Applied prometheus.Histogram
	// Requests measures requests to remote clusters, by method and code.
	Requests *prometheus.HistogramVec
	// Manifests has one series per Manifest; nil where no series are wanted that there is one of per cluster.
	Manifests *prometheus.GaugeVec
}

// NewWork registers the metrics; perCluster says whether those are wanted that have a series per Manifest.
func NewWork(registry prometheus.Registerer, perCluster bool) (*Work, error) {
	w := &Work{
		Requeues: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_mgr_requeue_reason_total",
			Help: "Steps that are taken again, by what they do: intended where something is waited for or done, unexpected where something failed.",
		}, []string{"requeue_reason", "requeue_type"}),
		Installs: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "lifecycle_mgr_install_duration_seconds",
			Help:    "How long it took to apply a module to a cluster, without the time until it is ready.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 12),
		}),
		Applied: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "lifecycle_mgr_kick_to_applied_seconds",
			Help:    "How long it took from a change that a watcher saw until a module was applied for it, without the time until it is ready.",
			Buckets: prometheus.ExponentialBuckets(0.25, 2, 14),
		}),
		Requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lifecycle_mgr_remote_request_duration_seconds",
			Help:    "How long remote clusters took to answer requests, by method and kind of answer.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 13),
		}, []string{"method", "code"}),
	}
	fips := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_fips_mode", Help: "The FIPS 140-3 mode: 0 is off, 1 is on, 2 allows nothing else.",
	}, fipsMode)
	collectors := []prometheus.Collector{w.Requeues, w.Installs, w.Applied, w.Requests, fips}
	if perCluster {
		w.Manifests = prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "reconcile_duration_seconds", Help: "How long the last reconcile of a Manifest took that applied it.",
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
