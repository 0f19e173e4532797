package worker

import (
	"context"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Values of the label host in client-go's metrics.
const (
	hostControlPlane = "control-plane"
	hostRemote       = "remote"
)

// MeasureClients exports client-go's request metrics: rest_client_requests_total, and
// rest_client_rate_limiter_duration_seconds for the time that the client-side rate limiter delays requests. The label
// host has two values, one for the control plane and one for all remote clusters. Otherwise each cluster would have
// its own series. Call MeasureClients once, before the first client sends a request.
func MeasureClients(controlPlane *rest.Config) {
	metrics.RegisterRESTClientMetrics(metrics.MetricRateLimiterLatency)
	hosts := hostNames{controlPlane: controlPlane.Host}
	if parsed, _, err := rest.DefaultServerUrlFor(controlPlane); err == nil {
		hosts.controlPlane = parsed.Host
	}
	clientmetrics.RequestResult = namedResults{hosts, clientmetrics.RequestResult}
	clientmetrics.RateLimiterLatency = namedLatency{hosts, clientmetrics.RateLimiterLatency}
}

// hostNames maps a host to a kind of cluster.
type hostNames struct{ controlPlane string }

func (n hostNames) of(host string) string {
	if host == n.controlPlane {
		return hostControlPlane
	}
	return hostRemote
}

type namedResults struct {
	hosts hostNames
	next  clientmetrics.ResultMetric
}

// Increment implements clientmetrics.ResultMetric.
func (r namedResults) Increment(ctx context.Context, code, method, host string) {
	r.next.Increment(ctx, code, method, r.hosts.of(host))
}

type namedLatency struct {
	hosts hostNames
	next  clientmetrics.LatencyMetric
}

// Observe implements clientmetrics.LatencyMetric.
func (l namedLatency) Observe(ctx context.Context, verb string, address url.URL, took time.Duration) {
	l.next.Observe(ctx, verb, url.URL{Host: l.hosts.of(address.Host)}, took)
}
