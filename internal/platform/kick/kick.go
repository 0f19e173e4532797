package kick

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Names of the signals that the workflows understand.
const (
	// Signal says that something changed. Its argument is a Kick.
	Signal = "kick"
	// SignalContinueAsNew is for operators: the run continues as new the next time that it is idle.
	SignalContinueAsNew = "force-continue-as-new"
)

// Update names.
const (
	// UpdateReconcile asks for one completed reconcile and answers with the state reached.
	UpdateReconcile = "reconcile"
	// UpdateEvaluate asks a rollout to look at its clusters now and answers with what it does then.
	UpdateEvaluate = "evaluate"
	// UpdatePurge purges a Kyma under deletion before its grace period is over, and answers after one check with
	// the state reached.
	UpdatePurge = "purge"
)

// QueryStatus is the name of the query that says what a workflow is doing.
const QueryStatus = "status"

// Kick is the signal that notifies a workflow that something changed, never what it changed to: its receiver reads the live
// objects.
type Kick struct {
	// Reason is for people, e.g. "Kyma changed".
	Reason string `json:"reason"`
	// Kind, Namespace, Name and ResourceVersion identify the object whose change caused the kick, so
	// that a reader knows how fresh its caches must be.
	Kind            string `json:"kind,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Work asks for a step of the Manifest that the kick names: the Kyma's workflow applies, removes or observes it. UID says
	// which Manifest of that name it is.
	Work bool      `json:"work,omitempty"`
	UID  types.UID `json:"uid,omitempty"`
	// IfIdle says that a kick with Work counts only if nobody works on the Manifest.
	IfIdle bool `json:"ifIdle,omitempty"`
	// Urgent kicks (a changed spec, a deletion) are acted on at once, even while others are being paced.
	Urgent bool `json:"urgent,omitempty"`
	// Deleting interrupts a running installation, because the object was seen with a deletion timestamp.
	Deleting bool `json:"deleting,omitempty"`
	// Gone says that the object was removed.
	Gone bool `json:"gone,omitempty"`
	// Whole asks for a whole reconcile, also where it is a Manifest that changed.
	Whole bool `json:"whole,omitempty"`
	// NotBefore delays the reconcile that this kick causes, to spread a change over the fleet.
	NotBefore *time.Time `json:"notBefore,omitempty"`
	// Since is when a watcher saw the change that modules are to be applied for. It is measured only.
	Since *time.Time `json:"since,omitempty"`
}

// Start is the input with which an entity's workflow is started. Workflows extend it with what they
// carry from run to run; a starter never sets more than this.
type Start struct {
	Ref Ref `json:"ref"`
}

// SeenAt returns the kick with the time at which the change was seen, in milliseconds.
func (k Kick) SeenAt(at time.Time) Kick {
	at = at.UTC().Truncate(time.Millisecond)
	k.Since = &at
	return k
}

// Manifest returns the Manifest that the kick names.
func (k Kick) Manifest() Ref { return Ref{Namespace: k.Namespace, Name: k.Name, UID: k.UID} }

// Earliest is the earlier of two times that may be zero.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
