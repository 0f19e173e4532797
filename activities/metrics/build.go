package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// RegisterBuild registers lifecycle_mgr_build_info, which is always 1.
func RegisterBuild(registry prometheus.Registerer, version, commit, buildID string) error {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_build_info",
		Help: "Is always 1, labelled by the version, commit and build id of this process and the Go version that built it.",
	}, []string{"version", "commit", "build_id", "go_version"})
	info.WithLabelValues(version, commit, buildID, runtime.Version()).Set(1)
	return register(registry, "the build", info)
}
