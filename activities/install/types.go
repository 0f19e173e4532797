package install

import (
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
)

// ApplyInput names the Manifest to install or upgrade.
type ApplyInput struct {
	Ref kick.Ref `json:"ref"`
}

// ApplyResult is what Apply found and did.
type ApplyResult struct {
	Outcome manifests.Outcome `json:"outcome"`
	// InputsDigest is the digest of the inputs that were acted on (see InputsDigest).
	InputsDigest string             `json:"inputsDigest,omitempty"`
	Observed     readiness.Observed `json:"observed"`
	// Judged is true when Observed was found by looking at the module and written into its status as settled, so
	// that nothing has to be waited for.
	Judged  bool   `json:"judged,omitempty"`
	Module  string `json:"module,omitempty"`
	Version string `json:"version,omitempty"`
	Kyma    string `json:"kyma,omitempty"`
}

// WaitInput names the Manifest to watch and what was last reported of it.
type WaitInput struct {
	Ref      kick.Ref           `json:"ref"`
	Reported readiness.Observed `json:"reported"`
}

// shared is the result of a look at a module that is not this Manifest's to install.
func (r ApplyResult) shared(o *readiness.Observed) ApplyResult {
	if o == nil {
		return ApplyResult{}
	}
	r.Outcome, r.Observed = manifests.OutcomeShared, *o
	return r
}
