package worker

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func TestLatencyBucketsDistinguishLatenciesBelowASecond(t *testing.T) {
	registry := prometheus.NewRegistry()
	handler, err := MetricsHandler(registry)
	require.NoError(t, err)
	timer := handler.Timer("temporal_request_latency")
	for _, took := range []time.Duration{8 * time.Millisecond, 80 * time.Millisecond, 800 * time.Millisecond, 8 * time.Second} {
		timer.Record(took)
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	require.Equal(t, "temporal_request_latency_seconds", families[0].GetName())
	within := map[float64]uint64{}
	for _, bucket := range families[0].GetMetric()[0].GetHistogram().GetBucket() {
		within[bucket.GetUpperBound()] = bucket.GetCumulativeCount()
	}
	require.Equal(t, []uint64{0, 1, 2, 3, 4}, []uint64{within[0.005], within[0.01], within[0.1], within[1], within[10]})
}
