package metrics

import "github.com/prometheus/client_golang/prometheus"

// Events measures how the listener handles the events of remote clusters.
type Events struct {
	// Received counts requests, and connections without a request, by result.
	Received *prometheus.CounterVec
	// Delay measures the time from the arrival of an event until its workflow is kicked.
	Delay prometheus.Histogram
	// Lost counts accepted events that were not passed on before the process ended.
	Lost prometheus.Counter
	// Upstream measures the same by path, under the names of upstream's listener.
	Upstream Listener
}

// Listener holds the metrics of upstream's listener, for its dashboards.
type Listener struct {
	Duration                             *prometheus.HistogramVec
	Requests, Errors, TooLarge, Unproven *prometheus.CounterVec
	Inflight                             *prometheus.GaugeVec
}

func newListener() Listener {
	path := []string{"request_uri_label"}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, path)
	}
	return Listener{
		Duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "watcher_listener_request_duration", Help: "Duration of agents' requests in seconds.",
		}, path),
		Requests: counter("watcher_listener_request_rate", "Requests of agents (a counter)."),
		Errors:   counter("watcher_listener_request_error", "Refused requests of agents (a counter)."),
		TooLarge: counter("watcher_listener_exceeding_size_limit_requests", "Requests of agents above the size limit."),
		Unproven: counter("watcher_listener_failed_verification_requests", "Requests refused because of their certificate."),
		Inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "watcher_listener_inflight_requests", Help: "Requests of agents in progress.",
		}, path),
	}
}

// NewEvents registers the metrics. The function queued returns how many entities wait for a kick. Each result has a
// series from the start.
func NewEvents(registry prometheus.Registerer, results []string, queued func() int) (*Events, error) {
	e := &Events{
		Received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_mgr_events_received_total",
			Help: "Requests of agents in remote clusters, by result: accepted, merged with a waiting event, or the reason of the refusal.",
		}, []string{"result"}),
		Delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "lifecycle_mgr_events_delay_seconds",
			Help:    "Time from the arrival of an event from a remote cluster until its workflow is kicked.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}),
		Lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lifecycle_mgr_events_lost_total",
			Help: "Kymas and Manifests with accepted events that were not passed on before the process ended. The sweep finds their changes.",
		}),
	}
	e.Upstream = newListener()
	for _, result := range results {
		e.Received.WithLabelValues(result)
	}
	length := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_events_queue_length", Help: "Kymas and Manifests with accepted events that wait for a kick.",
	}, func() float64 { return float64(queued()) })
	return e, register(registry, "events", e.Received, e.Delay, e.Lost, length,
		e.Upstream.Duration, e.Upstream.Requests, e.Upstream.Errors, e.Upstream.TooLarge, e.Upstream.Unproven, e.Upstream.Inflight)
}
