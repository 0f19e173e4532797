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
	Outcome  manifests.Outcome  `json:"outcome"` // OutcomeGone, OutcomeWaiting, OutcomeRemoved, or OutcomeApplied when it is not being deleted
	Observed readiness.Observed `json:"observed"`
}
