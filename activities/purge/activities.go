// Package purge force-removes the modules of a deleted Kyma if an orderly removal did not finish within the grace period
// (docs/design/deletion-and-purge.md#the-purge).
//
// AdmitPurge asks the removal budget whether a Kyma's modules may be purged. PurgeManifest then purges one Manifest per
// call. Rules decide which finalizers a purge may remove. For each forced object, Recorder writes an Event and a log line
// and counts the object.
//
// What must stay true:
//   - The Event is written before the object is forced, so that a crash never leaves a forced object without an Event.
//   - Every activity can run again after an interruption. Each object is deleted once and loses its finalizers once.
//   - Objects that Manifests of other Kymas use are kept. So are objects with a finalizer that Rules protect.
package purge

import (
	"cmp"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
)

// Options configure the activities.
type Options struct {
	// Purges records forced objects. The default writes Events only.
	Purges *Recorder
	// Budget limits how many clusters are purged. If it is nil, nothing limits them.
	Budget Budget
	// PurgeRules decide which finalizers may be removed.
	PurgeRules Rules
	// PurgeLimit bounds the time that one purge works in the cluster, so that the purge ends within its step. Default: 75
	// s.
	PurgeLimit time.Duration
}

// Activities holds the activities of this package.
type Activities struct {
	Options  Options
	steps    *manifests.Steps
	applier  *apply.Applier
	removals *removal.Removals
}

// New returns the activities. Register them with a worker.
func New(steps *manifests.Steps, applier *apply.Applier, removals *removal.Removals, o Options) *Activities {
	if o.Purges == nil {
		o.Purges = NewRecorder(steps.Options.ControlPlane)
	}
	o.PurgeLimit = cmp.Or(o.PurgeLimit, 75*time.Second)
	return &Activities{Options: o, steps: steps, applier: applier, removals: removals}
}
