// Package metrics defines every Prometheus metric of Lifecycle Manager: names, help texts and labels are here and nowhere
// else. It imports nothing of ours.
//
//	counters.go  what activities count: kicks, drift corrections, purged objects, failed workflow tasks
//	work.go      what workers measure: steps, installations, requests to remote clusters
//	build.go     which build a process is
//	gauges.go    whether a process can work: its link to Temporal, its settings, its maintenance policy
//	artifacts.go what caches and registries are asked for
//	overview.go  what the leader exports about the whole fleet without a series per cluster
//	fleet.go     what the leader exports about the fleet: states of Kymas and modules, the catalog
//
// A constructor registers what it returns, except for those in overview.go and fleet.go: their users are collectors, which are
// registered as a whole. Names, labels and their values are a contract (docs/contract.md#metrics): they never change. No label
// of a metric names a cluster, except where the constructor says so.
package metrics

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// register registers the metrics of one subject.
func register(registry prometheus.Registerer, subject string, collectors ...prometheus.Collector) error {
	for _, collector := range collectors {
		if err := registry.Register(collector); err != nil {
			return fmt.Errorf("register the metrics of %s: %w", subject, err)
		}
	}
	return nil
}

// RegisterBuild registers lifecycle_mgr_build_info, which is always 1.
func RegisterBuild(registry prometheus.Registerer, version, commit, buildID string) error {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lifecycle_mgr_build_info",
		Help: "Is always 1, labelled by the version, commit and build id of this process and the Go version that built it.",
	}, []string{"version", "commit", "build_id", "go_version"})
	info.WithLabelValues(version, commit, buildID, runtime.Version()).Set(1)
	return register(registry, "the build", info)
}
