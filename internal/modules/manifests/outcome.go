package manifests

import (
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Outcome is the result of an activity. It decides what the workflow does next.
type Outcome string

const (
	// OutcomeGone means that the Manifest does not exist or has another uid. Nothing was touched.
	OutcomeGone Outcome = "Gone"
	// OutcomeDeleting means that the Manifest is being deleted. Only a removal may follow.
	OutcomeDeleting Outcome = "Deleting"
	// OutcomeSkipped means that the Manifest has the skip-reconciliation label.
	OutcomeSkipped Outcome = "Skipped"
	// OutcomeUnmanaged means that the module is unmanaged: labels and finalizers were removed, and the Manifest was
	// deleted.
	OutcomeUnmanaged Outcome = "Unmanaged"
	// OutcomeRefused means that nothing may be done for the Manifest or for its present spec. Observed says why.
	OutcomeRefused Outcome = "Refused"
	// OutcomeNotOurs means that the Manifest's Kyma belongs to another instance. Nothing was touched or reported.
	OutcomeNotOurs Outcome = "NotOurs"
	// OutcomeShared means that another Manifest installs the module in the control plane. Nothing was touched.
	OutcomeShared Outcome = "Shared"
	// OutcomeApplied means that every object was applied and unwanted objects were pruned. For a removal or a purge, it
	// means that the Manifest must not be removed.
	OutcomeApplied Outcome = "Applied"
	// OutcomeIncomplete means that some objects could not be applied. Observed says which and why.
	OutcomeIncomplete Outcome = "Incomplete"
	// OutcomeLater means that the work takes longer than the caller wants to wait. Nothing was applied.
	OutcomeLater Outcome = "Later"
	// OutcomeWaiting means that the removal has begun and waits. Observed says for what.
	OutcomeWaiting Outcome = "Waiting"
	// OutcomeRemoved means that nothing remains and the finalizers were removed.
	OutcomeRemoved Outcome = "Removed"
)

// ReportInput is a state to write into a Manifest's status.
type ReportInput struct {
	Ref      kick.Ref           `json:"ref"`
	Observed readiness.Observed `json:"observed"`
	// InputsDigest identifies the inputs of the reconcile that led to Observed.
	InputsDigest string `json:"inputsDigest,omitempty"`
	// Settled is true if the workflow has nothing more to do for these inputs.
	Settled bool `json:"settled,omitempty"`
}

// ReportResult is the result of Report.
type ReportResult struct {
	Outcome Outcome `json:"outcome"` // OutcomeGone, OutcomeDeleting or OutcomeApplied
	// Changed is true if the status was written.
	Changed bool `json:"changed"`
	News
}
