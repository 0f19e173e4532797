package worker

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Otherwise a fleet of 10,000 clusters would have 10,000 times the series.
func TestRequestsOfClientsNameNoRemoteCluster(t *testing.T) {
	results, latency := clientmetrics.RequestResult, clientmetrics.RateLimiterLatency
	t.Cleanup(func() { clientmetrics.RequestResult, clientmetrics.RateLimiterLatency = results, latency })
	MeasureClients(&rest.Config{Host: "https://control.example.com:6443/path"})
	for _, host := range []string{"control.example.com:6443", "one.example.com", "two.example.com"} {
		clientmetrics.RequestResult.Increment(t.Context(), "429", "PATCH", host)
		clientmetrics.RateLimiterLatency.Observe(t.Context(), "PATCH", url.URL{Scheme: "https", Host: host, Path: "/api"}, time.Second)
	}
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	hosts := map[string][]string{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "host" {
					hosts[family.GetName()] = append(hosts[family.GetName()], label.GetValue())
				}
			}
		}
	}
	want := []string{"control-plane", "remote"}
	require.Equal(t, map[string][]string{"rest_client_requests_total": want, "rest_client_rate_limiter_duration_seconds": want}, hosts)
}
