package worker

import (
	"context"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// What the label host of client-go's metrics says.
const (
	hostControlPlane = "control-plane"
	hostRemote       = "remote"
)

// MeasureClients exports client-go's metrics of requests (rest_client_requests_total) and of the time for which its rate
// limiter holds them back (rest_client_rate_limiter_duration_seconds) with two values of the label host, that of the control
// plane and one for all remote clusters: otherwise each cluster would have series of its own. Call it once, before any
// client is used.
func MeasureClients(controlPlane *rest.Config) {
	metrics.RegisterRESTClientMetrics(metrics.MetricRateLimiterLatency)
	hosts := hostNames{controlPlane: controlPlane.Host}
	if parsed, _, err := rest.DefaultServerUrlFor(controlPlane); err == nil {
		hosts.controlPlane = parsed.Host
	}
	clientmetrics.RequestResult = namedResults{hosts, clientmetrics.RequestResult}
	clientmetrics.RateLimiterLatency = namedLatency{hosts, clientmetrics.RateLimiterLatency}
}

// hostNames says which kind of cluster a host is.
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
