package metrics

import "github.com/prometheus/client_golang/prometheus"

// Clusters are the Kymas with a remote cluster, by reason.
func Clusters() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_clusters",
		"Kymas with a remote cluster, by what is known of it: Reachable, Unknown before it was asked, or the reason why it cannot be reached.",
		[]string{"reason"}, nil)
}

// ModuleVersionManifests are the Manifests of a version of a module; labels: module, version, state.
func ModuleVersionManifests() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_module_version_manifests",
		"Manifests, by module, wanted version and state.", []string{"module", "version", "state"}, nil)
}

// OldestUnsettled is for how long the oldest object of a kind is unsettled; labels: kind.
func OldestUnsettled() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_oldest_unsettled_seconds",
		"For how long the Kyma or Manifest has been worked on without coming to an end that has been so for longest; 0 where there is none. Those whose cluster cannot be reached do not count.",
		[]string{"kind"}, nil)
}

// Unsettled is how many objects of a kind are unsettled; labels: kind.
func Unsettled() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_unsettled",
		"Kymas and Manifests that are worked on and have not come to an end. Those whose cluster cannot be reached do not count.",
		[]string{"kind"}, nil)
}

// OpenWorkflows are the workflows that have not ended; labels: type.
func OpenWorkflows() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_open_workflows", "Workflows that run or sleep, by type, as of the last minute.", []string{"type"}, nil)
}

// HeldWorkflows counts the workflows that make no progress until somebody helps.
func HeldWorkflows() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_held_workflows",
		"Workflows that make no progress, by type and reason (Paused in Temporal, ReportedProblems with their workflow tasks), as of the last minute.",
		[]string{"type", "reason"}, nil)
}

// SweepLag is how long ago the last pass of the sweep ended in the shard that waits for longest.
func SweepLag() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_sweep_lag_seconds",
		"How long ago a pass of the sweep last ended, in the shard where that is longest ago.", nil, nil)
}

// SweepInterval is how often the sweep is to pass.
func SweepInterval() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_sweep_interval_seconds",
		"How often the sweep is to compare every cluster (flag resync-interval).", nil, nil)
}
