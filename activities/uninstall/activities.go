// Package uninstall removes the module of a Manifest that is being deleted: its default custom resource first, while
// the operator still runs, then its resources, and the Manifest's finalizers last. RemoveManifest and WaitRemoval are
// its activities. Each of them can be run again at any point.
package uninstall

import (
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
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

// RemoveInput names the Manifest to remove, and what was last reported of the removal.
type RemoveInput struct {
	Ref      kick.Ref           `json:"ref"`
	Reported readiness.Observed `json:"reported"`
}

// RemoveResult is the progress of the removal.
type RemoveResult struct {
	// Outcome is OutcomeGone, OutcomeWaiting, OutcomeRemoved, OutcomeRefused, OutcomeSkipped, or OutcomeApplied when the
	// Manifest is not being deleted.
	Outcome  manifests.Outcome  `json:"outcome"`
	Observed readiness.Observed `json:"observed"`
	manifests.News
}
