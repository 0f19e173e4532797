// Package metrics has the agent's metrics. Metrics that agents of the earlier generation have keep their names, so
// that existing dashboards work.
package metrics

import (
	"crypto/fips140"
	"crypto/x509"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kyma-project/lifecycle-manager/cmd/agent/internal/queue"
)

// Values of the label error_reason.
const (
	reasonFailed  = "failed-request"
	reasonRefused = "refused"
)

// Metrics counts the agent's work.
type Metrics struct {
	registry *prometheus.Registry

	asked, misunderstood, requested prometheus.Counter
	duration, notAfter              prometheus.Gauge
	failed, events                  *prometheus.CounterVec
	broken                          prometheus.Counter
}

// New returns the metrics of a build. length returns the number of events in the queue.
func New(version string, length func() int) *Metrics {
	m := &Metrics{
		registry:      prometheus.NewRegistry(),
		asked:         counter("watcher_admission_request_total", "Requests from the API server."),
		misunderstood: counter("watcher_admission_request_error_total", "Requests from the API server that could not be read, or that did not contain enough for an event."),
		duration:      gauge("watcher_request_duration", "Duration of the last answer to the API server in seconds."),
		requested:     counter("watcher_kcp_requests_total", "Requests to the listener."),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "watcher_failed_kcp_total", Help: "Failed requests to the listener (failed-request), and events dropped because the listener refused them (refused).",
		}, []string{"error_reason"}),
		events:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "watcher_events_total", Help: "Events by result."}, []string{"result"}),
		notAfter: gauge("watcher_certificate_not_after_timestamp_seconds", "Expiry of the certificate in use, as a Unix timestamp."),
		broken:   counter("watcher_certificate_errors_total", "Failed attempts to load the certificate's files."),
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "watcher_queue_length", Help: "Events that wait or are being sent."},
		func() float64 { return float64(length()) })
	fips := gauge("watcher_fips_mode", "FIPS 140-3 mode of Go (0=off, 1=on, 2=only).")
	fips.Set(fipsMode())
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "watcher_build_info", Help: "Version of this build; the value is always 1.", ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registry.MustRegister(m.asked, m.misunderstood, m.duration, m.requested, m.failed, m.events, m.notAfter, m.broken, waiting, fips, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, reason := range []string{reasonFailed, reasonRefused} {
		m.failed.WithLabelValues(reason)
	}
	for _, result := range []string{"queued", "merged", "dropped", "sent", "refused"} {
		m.events.WithLabelValues(result)
	}
	return m
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func fipsMode() float64 {
	switch {
	case fips140.Enforced():
		return 2
	case fips140.Enabled():
		return 1
	}
	return 0
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, MaxRequestsInFlight: 2})
}

// Asked counts a request from the API server.
func (m *Metrics) Asked() { m.asked.Inc() }

// Answered records how long an answer took.
func (m *Metrics) Answered(duration time.Duration) { m.duration.Set(duration.Seconds()) }

// Misunderstood counts a request that could not be read or did not contain enough for an event.
func (m *Metrics) Misunderstood() { m.misunderstood.Inc() }

// Added counts an event by the result of queue.Add.
func (m *Metrics) Added(as queue.Added) {
	result := "queued"
	switch as {
	case queue.Queued:
	case queue.Merged:
		result = "merged"
	case queue.Dropped:
		result = "dropped"
	}
	m.events.WithLabelValues(result).Inc()
}

// Requested counts a request to the listener.
func (m *Metrics) Requested() { m.requested.Inc() }

// Arrived counts an event that the listener accepted.
func (m *Metrics) Arrived() { m.events.WithLabelValues("sent").Inc() }

// Failed counts a failed request to the listener.
func (m *Metrics) Failed() { m.failed.WithLabelValues(reasonFailed).Inc() }

// Refused counts an event that was dropped because the listener refused it.
func (m *Metrics) Refused() {
	m.failed.WithLabelValues(reasonRefused).Inc()
	m.events.WithLabelValues("refused").Inc()
}

// CertificateLoaded records when a certificate expires.
func (m *Metrics) CertificateLoaded(leaf *x509.Certificate) {
	m.notAfter.Set(float64(leaf.NotAfter.Unix()))
}

// CertificateBroken counts a failed attempt to load the certificate's files.
func (m *Metrics) CertificateBroken() { m.broken.Inc() }
