package install

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// ApplyInput names the Manifest to install or upgrade.
type ApplyInput struct {
	Ref kick.Ref `json:"ref"`
	// Since is when a watcher saw the change that is to be applied; zero where nobody says it.
	Since time.Time `json:"since,omitzero"`
}

// ApplyResult is what Apply found and did.
type ApplyResult struct {
	Outcome manifests.Outcome `json:"outcome"`
	// InputsDigest is the digest of the inputs that were applied (see manifests.InputsDigest).
	InputsDigest string             `json:"inputsDigest,omitempty"`
	Observed     readiness.Observed `json:"observed"`
	// Judged is true when Observed was read from the module's objects and written into its status as settled, so that
	// there is nothing to wait for.
	Judged  bool   `json:"judged,omitempty"`
	Module  string `json:"module,omitempty"`
	Version string `json:"version,omitempty"`
	Kyma    string `json:"kyma,omitempty"`
	manifests.News
}

// IsOfWork reports whether objects were applied, or found to take too long, rather than nothing to be done.
func (r ApplyResult) IsOfWork() bool {
	return r.Outcome == manifests.OutcomeApplied || r.Outcome == manifests.OutcomeIncomplete || r.Outcome == manifests.OutcomeLater
}

// WaitInput names the Manifest whose default custom resource is to be created, and what was last seen of the module.
type WaitInput struct {
	Ref      kick.Ref           `json:"ref"`
	Reported readiness.Observed `json:"reported"`
}

// WaitResult is the state of a module that was observed, or that was written into the Manifest's status.
type WaitResult struct {
	readiness.Observed
	manifests.News
}

// as is the result where a reconcile ends with this outcome and observation.
func (r ApplyResult) as(outcome manifests.Outcome, o readiness.Observed) (ApplyResult, error) {
	r.Outcome, r.Observed = outcome, o
	return r, nil
}
