package metrics

import "github.com/prometheus/client_golang/prometheus"

// Events measures what the listener does with the events of remote clusters.
type Events struct {
	// Received counts requests, and connections on which none came, by result.
	Received *prometheus.CounterVec
	// Delay measures how long it took from the arrival of an event until its workflow was kicked.
	Delay prometheus.Histogram
	// Lost counts events that were accepted and not passed on when the process ended.
	Lost prometheus.Counter
	// Upstream measures the same under the names of upstream's listener, by path.
	Upstream Listener
}

// Listener has the metrics of upstream's listener, for its dashboards.
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
			Name: "watcher_listener_request_duration", Help: "How long requests of agents took, in seconds.",
		}, path),
		Requests: counter("watcher_listener_request_rate", "Requests of agents, as a counter."),
		Errors:   counter("watcher_listener_request_error", "Requests of agents that were refused, as a counter."),
		TooLarge: counter("watcher_listener_exceeding_size_limit_requests", "Requests of agents that were too large."),
		Unproven: counter("watcher_listener_failed_verification_requests", "Requests whose certificate was not accepted."),
		Inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "watcher_listener_inflight_requests", Help: "Requests of agents that are being answered.",
		}, path),
	}
}

// NewEvents registers the metrics; queued is how many entities wait to be kicked. Each result is there from the beginning.
func NewEvents(registry prometheus.Registerer, results []string, queued func() int) (*Events, error) {
	e := &Events{
		Received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lifecycle_mgr_events_received_total",
			Help: "Requests of agents in remote clusters, by what was done with them: accepted, merged with an event that waits, or why they were refused.",
		}, []string{"result"}),
		Delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "lifecycle_mgr_events_delay_seconds",
			Help:    "How long it took from the arrival of an event from a remote cluster until the workflow was kicked.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}),
		Lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "lifecycle_mgr_events_lost_total",
			Help: "Kymas and Manifests whose events were accepted, and not passed on before the process ended. The sweep finds what changed.",
		}),
	}
	e.Upstream = newListener()
	for _, result := range results {
		e.Received.WithLabelValues(result)
	}
	length := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_events_queue_length", Help: "Kymas and Manifests that events were accepted for and that wait to be kicked.",
	}, func() float64 { return float64(queued()) })
	return e, register(registry, "events", e.Received, e.Delay, e.Lost, length,
		e.Upstream.Duration, e.Upstream.Requests, e.Upstream.Errors, e.Upstream.TooLarge, e.Upstream.Unproven, e.Upstream.Inflight)
}
