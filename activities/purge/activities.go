// Package purge forces what an orderly removal could not remove within the grace period: AdmitPurge asks the removal budget
// whether a Kyma's modules may be purged, and PurgeManifest purges one of them. Rules say which finalizers may be removed;
// each object that is forced is an Event, a line in the log and a count, by Recorder
// (docs/design/deletion-and-purge.md#the-purge).
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
	// Purges records what is forced; by default with Events alone.
	Purges *Recorder
	// Budget may be nil: then nothing bounds purges.
	Budget Budget
	// PurgeRules say which finalizers may be removed.
	PurgeRules Rules
	// PurgeLimit bounds the work in the cluster of one purge, so that it ends within its step; 75 s.
	PurgeLimit time.Duration
}

// Activities are the activities of this package.
type Activities struct {
	Options  Options
	steps    *manifests.Steps
	applier  *apply.Applier
	removals *removal.Removals
}

// New returns the activities, to be registered with a worker.
func New(steps *manifests.Steps, applier *apply.Applier, removals *removal.Removals, o Options) *Activities {
	if o.Purges == nil {
		o.Purges = NewRecorder(steps.Options.ControlPlane)
	}
	o.PurgeLimit = cmp.Or(o.PurgeLimit, 75*time.Second)
	return &Activities{Options: o, steps: steps, applier: applier, removals: removals}
}
