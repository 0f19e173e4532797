package collectors

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
)

// Rollouts exports the state of the newest rollout of each channel. Earlier rollouts have ended or are superseded. It
// reads the cache, and only the leader exports it.
type Rollouts struct {
	reader          client.Reader
	leads           <-chan struct{}
	settings        desired.Settings
	phase, clusters *prometheus.Desc
}

// NewRollouts returns a collector that reads ModuleRollouts from a cache. It exports nothing before leads is closed.
func NewRollouts(reader client.Reader, leads <-chan struct{}, settings desired.Settings) *Rollouts {
	return &Rollouts{
		reader: reader, leads: leads, settings: settings.WithDefaults(), phase: metrics.RolloutPhase(), clusters: metrics.RolloutClusters(),
	}
}

// Describe implements prometheus.Collector.
func (c *Rollouts) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- c.phase
	descriptions <- c.clusters
}

// Collect implements prometheus.Collector.
func (c *Rollouts) Collect(out chan<- prometheus.Metric) {
	if !isClosed(c.leads) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	var all v1beta2.ModuleRolloutList
	if err := c.reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(c.phase, err)
		return
	}
	for _, r := range c.newest(all.Items) {
		about := []string{r.Namespace, r.Name, r.Spec.ModuleName, r.Spec.Channel, r.Spec.To}
		if r.Status.Phase == "" {
			continue // its first step has not run yet
		}
		out <- prometheus.MustNewConstMetric(c.phase, prometheus.GaugeValue, 1, append(about, string(r.Status.Phase))...)
		for state, clusters := range clustersOf(r) {
			out <- prometheus.MustNewConstMetric(c.clusters, prometheus.GaugeValue, float64(clusters), append(about, state)...)
		}
	}
}

// newest returns the newest rollouts of each channel, separately for rollouts of policies and for others.
func (c *Rollouts) newest(all []v1beta2.ModuleRollout) []*v1beta2.ModuleRollout {
	type channel struct {
		namespace, module, channel string
		byHand                     bool
	}
	found := map[channel]*v1beta2.ModuleRollout{}
	for i := range all {
		r := &all[i]
		if !c.settings.Ours(r.Labels) || !r.DeletionTimestamp.IsZero() {
			continue
		}
		of := channel{r.Namespace, r.Spec.ModuleName, r.Spec.Channel, r.IsByHand()}
		if before := found[of]; before == nil || rollout.IsNewer(r, before) {
			found[of] = r
		}
	}
	newest := make([]*v1beta2.ModuleRollout, 0, len(found))
	for _, r := range found {
		newest = append(newest, r)
	}
	return newest
}

// clustersOf returns the number of clusters of a rollout by state, over all stages. A released cluster that is in no
// other state is updating.
func clustersOf(r *v1beta2.ModuleRollout) map[string]int32 {
	counts := map[string]int32{}
	for _, stage := range r.Status.Stages {
		counts["NotReleased"] += stage.Total - stage.Released
		counts["Updating"] += stage.Updating
		counts["Ready"] += stage.Ready
		counts["Failed"] += stage.Failed
		counts["Broken"] += stage.Broken
		counts["Waiting"] += stage.Waiting
		counts["Unreachable"] += stage.Unreachable
	}
	return counts
}
