// Package uninstall removes the module of a Manifest that is being deleted. RemoveManifest and WaitRemoval are its
// activities. Both are safe to run again at any point.
//
// RemoveManifest deletes the default custom resource first, while the operator still runs, then the module's resources.
// It removes the Manifest's finalizers last.
package uninstall

import (
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Activities removes modules.
type Activities struct {
	steps    *manifests.Steps
	applier  *apply.Applier
	removals *removal.Removals
	install  *install.Activities
}

// New returns the activities. Register them with a worker.
func New(steps *manifests.Steps, applier *apply.Applier, removals *removal.Removals, installer *install.Activities) *Activities {
	return &Activities{steps: steps, applier: applier, removals: removals, install: installer}
}

// RemoveInput names the Manifest to remove, and holds the last reported state of the removal.
type RemoveInput struct {
	Ref      kick.Ref           `json:"ref"`
	Reported readiness.Observed `json:"reported"`
}

// RemoveResult is the progress of the removal.
type RemoveResult struct {
	// Outcome is OutcomeGone, OutcomeWaiting, OutcomeRemoved, OutcomeRefused, OutcomeSkipped, or OutcomeApplied if the
	// Manifest is not being deleted.
	Outcome  manifests.Outcome  `json:"outcome"`
	Observed readiness.Observed `json:"observed"`
	manifests.News
}
