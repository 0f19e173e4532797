package metrics

import "github.com/prometheus/client_golang/prometheus"

// Kicks counts kicks by reason; it is the counter of a kick.Sender.
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

// Drift counts the objects in clusters that others had changed or deleted, and whose drift was corrected.
type Drift struct{ corrections prometheus.Counter }

// NewDrift registers lifecycle_mgr_drift_corrections_total.
func NewDrift(registry prometheus.Registerer) (*Drift, error) {
	corrections := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lifecycle_mgr_drift_corrections_total",
		Help: "Objects of modules that others had changed or deleted in their clusters, and whose drift was corrected.",
	})
	return &Drift{corrections: corrections}, register(registry, "drift corrections", corrections)
}

// Refused counts Manifests that somebody made although no plan had them.
type Refused struct{ manifests prometheus.Counter }

// NewRefused registers lifecycle_mgr_unplanned_manifests_total.
func NewRefused(registry prometheus.Registerer) (*Refused, error) {
	manifests := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lifecycle_mgr_unplanned_manifests_total",
		Help: "Manifests that were refused because no plan of their Kyma had them.",
	})
	return &Refused{manifests: manifests}, register(registry, "refused Manifests", manifests)
}

// ManifestRefused counts a Manifest that was refused.
func (r *Refused) ManifestRefused() { r.manifests.Inc() }

// DriftCorrected counts objects whose drift was corrected.
func (d *Drift) DriftCorrected(objects int) { d.corrections.Add(float64(objects)) }

// Purges counts forced objects; it is the counter of a purge.Recorder.
type Purges struct{ purged prometheus.Counter }

// NewPurges registers lifecycle_mgr_purged_objects_total.
func NewPurges(registry prometheus.Registerer) (*Purges, error) {
	purged := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "lifecycle_mgr_purged_objects_total",
		Help: "Objects that a purge deleted or took finalizers off, after the grace period of their Kyma's deletion.",
	})
	return &Purges{purged: purged}, register(registry, "purges", purged)
}

// ObjectPurged counts one object.
func (p *Purges) ObjectPurged() { p.purged.Inc() }

// NewTaskFailures registers lifecycle_mgr_workflow_task_failures_total, by cause.
func NewTaskFailures(registry prometheus.Registerer) (*prometheus.CounterVec, error) {
	failed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lifecycle_mgr_workflow_task_failures_total",
		Help: "Workflow tasks that failed in this process, or whose outcome Temporal refused, by cause. While this grows, workflows stand still.",
	}, []string{"cause"})
	return failed, register(registry, "workflow tasks", failed)
}
