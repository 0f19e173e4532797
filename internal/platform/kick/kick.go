package kick

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Signals of the workflows.
const (
	// Signal notifies a workflow of a change. Its argument is a Kick.
	Signal = "kick"
	// SignalContinueAsNew is for operators: the run continues as new once it is idle.
	SignalContinueAsNew = "force-continue-as-new"
)

// Updates of the workflows.
const (
	// UpdateReconcile asks for one complete reconcile and returns the state reached.
	UpdateReconcile = "reconcile"
	// UpdateEvaluate asks a rollout to check its clusters now and returns its decision.
	UpdateEvaluate = "evaluate"
	// UpdatePurge purges a Kyma under deletion before its grace period is over. It returns the state reached after one
	// check.
	UpdatePurge = "purge"
)

// QueryStatus is the query for what a workflow is doing.
const QueryStatus = "status"

// Kick is the argument of Signal. It says that something changed, never to what: its receiver reads the live objects.
type Kick struct {
	// Reason is for people, e.g. "Kyma changed".
	Reason string `json:"reason"`
	// Kind, Namespace, Name and ResourceVersion identify the changed object, so that a reader knows how fresh its
	// caches must be.
	Kind            string `json:"kind,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Work asks for a step of the named Manifest: the Kyma's workflow applies, removes or observes it. UID is the uid
	// of that Manifest.
	Work bool      `json:"work,omitempty"`
	UID  types.UID `json:"uid,omitempty"`
	// IfIdle drops a kick with Work if a step of the Manifest is already in progress.
	IfIdle bool `json:"ifIdle,omitempty"`
	// Urgent kicks (a changed spec, a deletion) take effect at once, even while other kicks are paced.
	Urgent bool `json:"urgent,omitempty"`
	// Deleting interrupts a running installation, because a watcher saw the object with a deletion timestamp.
	Deleting bool `json:"deleting,omitempty"`
	// Gone says that the object no longer exists.
	Gone bool `json:"gone,omitempty"`
	// Whole asks for a complete reconcile, even if only a Manifest changed.
	Whole bool `json:"whole,omitempty"`
	// NotBefore delays the reconcile, to spread a change over the fleet.
	NotBefore *time.Time `json:"notBefore,omitempty"`
	// Since is the time at which a watcher saw the change. It only serves measurement.
	Since *time.Time `json:"since,omitempty"`
}

// Start is the input of an entity's workflow. Workflows extend it with the state that they carry from run to run; a
// starter sets only these fields.
type Start struct {
	Ref Ref `json:"ref"`
}

// SeenAt returns the kick with the time at which a watcher saw the change, in milliseconds.
func (k Kick) SeenAt(at time.Time) Kick {
	at = at.UTC().Truncate(time.Millisecond)
	k.Since = &at
	return k
}

// Manifest returns the Manifest that the kick names.
func (k Kick) Manifest() Ref { return Ref{Namespace: k.Namespace, Name: k.Name, UID: k.UID} }

// Earliest returns the earlier of two times. A zero time does not count.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
