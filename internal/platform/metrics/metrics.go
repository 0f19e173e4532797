// Package metrics defines every Prometheus metric of Lifecycle Manager. Names, help texts and labels are here and
// nowhere else. The package imports no other package of this repository.
//
//	counters.go      counts of activities: kicks, drift corrections, purged objects, failed workflow tasks
//	work.go          measurements of workers: steps, installations, requests to remote clusters
//	events.go        the listener for events of remote clusters
//	metrics.go       the build of a process
//	gauges.go        whether a process can work: its link to Temporal, its settings, its maintenance policy
//	artifacts.go     requests to caches and registries
//	certificates.go  certificates of agents and of the listener
//	validity.go      expiry of clusters' credentials and of a process's own certificates
//	overview.go      the whole fleet, without a series per cluster, exported by the leader
//	fleet.go         states of Kymas and modules, the catalog, rollouts, exported by the leader
//
// A constructor registers the metrics that it returns. Functions that return a prometheus.Desc or a Family are the
// exception: collectors use them and are registered as a whole.
//
// Names, labels and the values of labels are a contract (docs/contract.md#metrics) and never change. No label names a
// cluster, except where the constructor says so.
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
