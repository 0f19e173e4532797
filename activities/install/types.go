// Package install makes a Manifest real in its cluster, follows its health, and removes it again.
package install

import (
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Outcome says what an activity found or did. It decides what the workflow does next.
type Outcome string

const (
	// OutcomeGone means that the Manifest does not exist or is another one of the same name: nothing was touched.
	OutcomeGone Outcome = "Gone"
	// OutcomeDeleting means that the Manifest is being deleted: only removal may follow.
	OutcomeDeleting Outcome = "Deleting"
	// OutcomeSkipped means that the Manifest carries the skip-reconciliation label.
	OutcomeSkipped Outcome = "Skipped"
	// OutcomeUnmanaged means that the module is unmanaged: labels and finalizers were taken off, and the Manifest was deleted.
	OutcomeUnmanaged Outcome = "Unmanaged"
	// OutcomeRefused means that nothing may be done for the Manifest, or not for its spec as it is; Observed says why.
	OutcomeRefused Outcome = "Refused"
	// OutcomeNotOurs means that the Kyma of the Manifest belongs to another instance: nothing was touched or said.
	OutcomeNotOurs Outcome = "NotOurs"
	// OutcomeShared means that another Manifest installs the module in the control plane: nothing was touched.
	OutcomeShared Outcome = "Shared"
	// OutcomeApplied means that every object was applied and what is no longer wanted was pruned.
	OutcomeApplied Outcome = "Applied"
	// OutcomeIncomplete means that some objects could not be applied; Observed says which and why.
	OutcomeIncomplete Outcome = "Incomplete"
	// OutcomeWaiting means that removal has begun and waits for something; Observed says for what.
	OutcomeWaiting Outcome = "Waiting"
	// OutcomeRemoved means that nothing is left and the finalizers were released.
	OutcomeRemoved Outcome = "Removed"
)

// Observed is what is said of a module: what the status shows, and what a wait compares against.
type Observed struct {
	State   shared.State `json:"state"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	// Hint says what can be done about it in this case; empty where what goes for the reason says it all.
	Hint string `json:"hint,omitempty"`
	// DefaultCRWanted is true when the module's resources are ready and its default custom resource has
	// neither been made nor been looked for yet.
	DefaultCRWanted bool `json:"defaultCRWanted,omitempty"`
	// Ready and Total count the applied objects.
	Ready int32 `json:"ready,omitempty"`
	Total int32 `json:"total,omitempty"`
}

// SameAs tells whether two observations say the same to people; counts alone are no news.
func (o Observed) SameAs(other Observed) bool {
	return o.State == other.State && o.Reason == other.Reason && o.Message == other.Message && o.Hint == other.Hint
}

// ApplyInput names the Manifest to install or upgrade.
type ApplyInput struct {
	Ref kick.Ref `json:"ref"`
}

// ApplyResult is what Apply found and did.
type ApplyResult struct {
	Outcome Outcome `json:"outcome"`
	// InputsDigest is the digest of the inputs that were acted on (see InputsDigest).
	InputsDigest string   `json:"inputsDigest,omitempty"`
	Observed     Observed `json:"observed"`
	// Judged is true when Observed was found by looking at the module and written into its status as settled, so
	// that nothing has to be waited for.
	Judged  bool   `json:"judged,omitempty"`
	Module  string `json:"module,omitempty"`
	Version string `json:"version,omitempty"`
	Kyma    string `json:"kyma,omitempty"`
}

// WaitInput names the Manifest to watch and what was last reported of it.
type WaitInput struct {
	Ref      kick.Ref `json:"ref"`
	Reported Observed `json:"reported"`
}

// ReportInput is a state to be written into a Manifest's status.
type ReportInput struct {
	Ref      kick.Ref `json:"ref"`
	Observed Observed `json:"observed"`
	// InputsDigest belongs to the look that led to Observed.
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Settled is true when the workflow has nothing more to do for these inputs.
	Settled bool `json:"settled,omitempty"`
}

// ReportResult says what was written.
type ReportResult struct {
	Outcome Outcome `json:"outcome"` // OutcomeGone, OutcomeDeleting or OutcomeApplied
	// Changed is true when the status was not already so.
	Changed bool `json:"changed"`
}

// RemoveInput names the Manifest to remove, and what was last reported of the removal.
type RemoveInput struct {
	Ref      kick.Ref `json:"ref"`
	Reported Observed `json:"reported"`
}

// RemoveResult says how far the removal is.
type RemoveResult struct {
	Outcome  Outcome  `json:"outcome"` // OutcomeGone, OutcomeWaiting, OutcomeRemoved, or OutcomeApplied when it is not being deleted
	Observed Observed `json:"observed"`
}
