// Package uninstall removes the module of a Manifest that is being deleted: its default custom resource first, while
// the operator still runs, then its resources, and the Manifest's finalizers last. RemoveManifest and WaitRemoval are
// its activities. Each of them can be run again at any point.
package uninstall

import (
	"github.com/kyma-project/lifecycle-manager/activities/apply"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/removal"
)

// Activities remove modules.
type Activities struct {
	steps    *manifests.Steps
	applier  *apply.Applier
	removals *removal.Removals
	install  *install.Activities
}

// New returns the activities, to be registered with a worker.
func New(steps *manifests.Steps, applier *apply.Applier, removals *removal.Removals, installer *install.Activities) *Activities {
	return &Activities{steps: steps, applier: applier, removals: removals, install: installer}
}
