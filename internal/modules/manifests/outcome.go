package manifests

import (
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
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
	// OutcomeUnmanaged means that the module is unmanaged: labels and finalizers were removed, and the Manifest was deleted.
	OutcomeUnmanaged Outcome = "Unmanaged"
	// OutcomeRefused means that nothing may be done for the Manifest, or not for its spec as it is; Observed says why.
	OutcomeRefused Outcome = "Refused"
	// OutcomeNotOurs means that the Kyma of the Manifest belongs to another instance: nothing was touched or reported.
	OutcomeNotOurs Outcome = "NotOurs"
	// OutcomeShared means that another Manifest installs the module in the control plane: nothing was touched.
	OutcomeShared Outcome = "Shared"
	// OutcomeApplied means that every object was applied and what is no longer wanted was pruned; of a removal or a purge,
	// that the Manifest is not to be removed.
	OutcomeApplied Outcome = "Applied"
	// OutcomeIncomplete means that some objects could not be applied; Observed says which and why.
	OutcomeIncomplete Outcome = "Incomplete"
	// OutcomeLater means that the work takes longer than its caller wants to wait: nothing was applied.
	OutcomeLater Outcome = "Later"
	// OutcomeWaiting means that the removal has begun and waits; Observed says for what.
	OutcomeWaiting Outcome = "Waiting"
	// OutcomeRemoved means that nothing remains and the finalizers were removed.
	OutcomeRemoved Outcome = "Removed"
)

// ReportInput is a state to be written into a Manifest's status.
type ReportInput struct {
	Ref      kick.Ref           `json:"ref"`
	Observed readiness.Observed `json:"observed"`
	// InputsDigest belongs to the reconcile that led to Observed.
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Settled is true when the workflow has nothing more to do for these inputs.
	Settled bool `json:"settled,omitempty"`
}

// ReportResult says what was written.
type ReportResult struct {
	Outcome Outcome `json:"outcome"` // OutcomeGone, OutcomeDeleting or OutcomeApplied
	// Changed is true when the status was written.
	Changed bool `json:"changed"`
	News
}
