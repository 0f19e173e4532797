package uninstall

import (
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
)

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
