package metrics

import "github.com/prometheus/client_golang/prometheus"

// Clusters counts the Kymas with a remote cluster, by reason.
func Clusters() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_clusters",
		"Kymas with a remote cluster, by its reachability: Reachable, Unknown before the first request, or the reason why it cannot be reached.",
		[]string{"reason"}, nil)
}

// ModuleVersionManifests counts the Manifests of each version of a module; labels: module, version, state.
func ModuleVersionManifests() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_module_version_manifests",
		"Manifests, by module, desired version and state.", []string{"module", "version", "state"}, nil)
}

// OldestUnsettled is the age of the oldest unsettled object of a kind; labels: kind.
func OldestUnsettled() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_oldest_unsettled_seconds",
		"For how long the oldest unsettled Kyma or Manifest has been in progress; 0 if none is unsettled. Objects of unreachable clusters do not count.",
		[]string{"kind"}, nil)
}

// Unsettled is the number of unsettled objects of a kind; labels: kind.
func Unsettled() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_unsettled",
		"Kymas and Manifests in progress that have not settled yet. Objects of unreachable clusters do not count.",
		[]string{"kind"}, nil)
}

// OpenWorkflows counts the workflows that have not ended; labels: type.
func OpenWorkflows() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_open_workflows", "Workflows that run or sleep, by type, as of the last minute.", []string{"type"}, nil)
}

// HeldWorkflows counts the workflows that make no progress until a person helps; labels: type, reason.
func HeldWorkflows() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_held_workflows",
		"Workflows that make no progress, by type and reason (Paused in Temporal, ReportedProblems with their workflow tasks), as of the last minute.",
		[]string{"type", "reason"}, nil)
}

// SweepLag is the time since the end of the last sweep pass, in the shard with the oldest pass.
func SweepLag() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_sweep_lag_seconds",
		"Time since the end of the last sweep pass, in the shard with the oldest pass.", nil, nil)
}

// SweepInterval is the desired time between two sweep passes.
func SweepInterval() *prometheus.Desc {
	return prometheus.NewDesc("lifecycle_mgr_sweep_interval_seconds",
		"Desired time between two comparisons of a cluster by the sweep (flag resync-interval).", nil, nil)
}
