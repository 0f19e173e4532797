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
	// Since is when a watcher saw the change to apply, or zero if this is unknown.
	Since time.Time `json:"since,omitzero"`
}

// ApplyResult is the result of ApplyManifest.
type ApplyResult struct {
	Outcome manifests.Outcome `json:"outcome"`
	// InputsDigest is the digest of the inputs that were applied (see manifests.InputsDigest).
	InputsDigest string             `json:"inputsDigest,omitempty"`
	Observed     readiness.Observed `json:"observed"`
	// Judged is true if Observed was read from the module's objects and written as settled into the Manifest's status.
	// Nothing is left to wait for.
	Judged  bool   `json:"judged,omitempty"`
	Module  string `json:"module,omitempty"`
	Version string `json:"version,omitempty"`
	Kyma    string `json:"kyma,omitempty"`
	manifests.News
}

// IsOfWork reports whether objects were applied, or the work was found to take too long. It returns false if there was
// nothing to do.
func (r ApplyResult) IsOfWork() bool {
	return r.Outcome == manifests.OutcomeApplied || r.Outcome == manifests.OutcomeIncomplete || r.Outcome == manifests.OutcomeLater
}

// WaitInput names the Manifest that needs its default custom resource, and holds the module's last observed state.
type WaitInput struct {
	Ref      kick.Ref           `json:"ref"`
	Reported readiness.Observed `json:"reported"`
}

// WaitResult is the state of a module, either observed or as written into the Manifest's status.
type WaitResult struct {
	readiness.Observed
	manifests.News
}

// as returns the result of a reconcile that ends with this outcome and observation.
func (r ApplyResult) as(outcome manifests.Outcome, o readiness.Observed) (ApplyResult, error) {
	r.Outcome, r.Observed = outcome, o
	return r, nil
}
