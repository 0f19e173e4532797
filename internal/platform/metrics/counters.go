package metrics

import "github.com/prometheus/client_golang/prometheus"

// Kicks counts kicks by reason. It is the counter of a kick.Sender.
type Kicks struct{ sent *prometheus.CounterVec }

// NewKicks registers lifecycle_mgr_kicks_total.
func NewKicks(registry prometheus.Registerer) (*Kicks, error) {
	sent := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lifecycle_mgr_kicks_total",
		Help: "Signals sent to workflows because something changed, by reason.",
	}, []string{"reason"})
	return &Kicks{sent: sent}, register(registry, "kicks", sent)
}

// KickSent counts one kick.
func (k *Kicks) KickSent(reason string) { k.sent.WithLabelValues(reason).Inc() }

// Drift counts the objects in clusters that others changed or deleted and that we corrected.
type Drift struct{ corrections prometheus.Counter }

// NewDrift registers lifecycle_mgr_drift_corrections_total.
func NewDrift(registry prometheus.Registerer) (*Drift, error) {
	corrections := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lifecycle_mgr_drift_corrections_total",
		Help: "Objects of modules that others changed or deleted in a cluster, and that were corrected.",
	})
	return &Drift{corrections: corrections}, register(registry, "drift corrections", corrections)
}

// Refused counts Manifests that were created without being in the plan of their Kyma.
type Refused struct{ manifests prometheus.Counter }

// NewRefused registers lifecycle_mgr_unplanned_manifests_total.
func NewRefused(registry prometheus.Registerer) (*Refused, error) {
	manifests := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lifecycle_mgr_unplanned_manifests_total",
		Help: "Manifests that were refused because they are not in the plan of their Kyma.",
	})
	return &Refused{manifests: manifests}, register(registry, "refused Manifests", manifests)
}

// ManifestRefused counts one refused Manifest.
func (r *Refused) ManifestRefused() { r.manifests.Inc() }

// DriftCorrected counts corrected objects.
func (d *Drift) DriftCorrected(objects int) { d.corrections.Add(float64(objects)) }

// Purges counts purged objects. It is the counter of a purge.Recorder.
type Purges struct{ purged prometheus.Counter }

// NewPurges registers lifecycle_mgr_purged_objects_total.
func NewPurges(registry prometheus.Registerer) (*Purges, error) {
	purged := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lifecycle_mgr_purged_objects_total",
		Help: "Objects that a purge deleted, or removed finalizers from, after the grace period of their Kyma's deletion.",
	})
	return &Purges{purged: purged}, register(registry, "purges", purged)
}

// ObjectPurged counts one object.
func (p *Purges) ObjectPurged() { p.purged.Inc() }

// NewTaskFailures registers lifecycle_mgr_workflow_task_failures_total, by cause.
func NewTaskFailures(registry prometheus.Registerer) (*prometheus.CounterVec, error) {
	failed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lifecycle_mgr_workflow_task_failures_total",
		Help: "Workflow tasks that failed in this process, or that Temporal refused to complete, by cause. While this grows, workflows make no progress.",
	}, []string{"cause"})
	return failed, register(registry, "workflow tasks", failed)
}
