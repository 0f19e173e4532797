package worker

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

// credentials exports when this process's credentials for remote clusters expire. No other component knows this:
// watchers only have the metadata of access Secrets.
type credentials struct {
	validities func() map[types.NamespacedName]clusters.Validity
	now        func() time.Time
	counts     *prometheus.Desc
	// ends is nil if metrics with one series per cluster are switched off.
	ends *prometheus.Desc
}

func registerCredentials(registry prometheus.Registerer, access *clusters.Registry, perCluster bool) error {
	c := &credentials{validities: access.Validities, now: time.Now, counts: metrics.ClusterCredentials()}
	if perCluster {
		c.ends = metrics.ClusterCredentialsEnd()
	}
	if err := registry.Register(c); err != nil {
		return fmt.Errorf("register the metrics of access Secrets: %w", err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (c *credentials) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- c.counts
	if c.ends != nil {
		descriptions <- c.ends
	}
}

// Collect counts the credentials in use. It implements prometheus.Collector.
func (c *credentials) Collect(collected chan<- prometheus.Metric) {
	now, counts, ends := c.now(), map[clusters.Expiry]int{}, map[string]time.Time{}
	for kyma, validity := range c.validities() {
		counts[validity.At(now)]++
		if c.ends == nil {
			continue
		}
		// If Kymas in several namespaces have the same name, report the earliest expiry.
		if end, known := ends[kyma.Name]; !validity.Until.IsZero() && (!known || validity.Until.Before(end)) {
			ends[kyma.Name] = validity.Until
		}
	}
	for _, expiry := range clusters.Expiries() {
		collected <- prometheus.MustNewConstMetric(c.counts, prometheus.GaugeValue, float64(counts[expiry]), string(expiry))
	}
	for name, end := range ends {
		collected <- prometheus.MustNewConstMetric(c.ends, prometheus.GaugeValue, float64(end.Unix()), name)
	}
}
