package readiness

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Observed is the observed state of a module: what its status shows, and what a wait compares with.
type Observed struct {
	State   shared.State `json:"state"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	// Hint says what can be done about it in this case; empty where the hint for the reason is enough.
	Hint string `json:"hint,omitempty"`
	// DefaultCRWanted is true when the module's resources are ready and its default custom resource is to be created.
	DefaultCRWanted bool `json:"defaultCRWanted,omitempty"`
	// Unreachable is true when the cluster could not be asked, so that State is an earlier one.
	Unreachable bool `json:"unreachable,omitempty"`
	// Ready and Total count the applied objects.
	Ready int32 `json:"ready,omitempty"`
	Total int32 `json:"total,omitempty"`
}

// SameAs tells whether two observations are the same for users; counts are not compared.
func (o Observed) SameAs(other Observed) bool {
	return o.State == other.State && o.Reason == other.Reason && o.Message == other.Message && o.Hint == other.Hint
}

// maxCompared bounds the texts by which observations are compared that were stored in a workflow's history or in what a run carries:
// the status of the Manifest has the whole texts.
const maxCompared = 200

// Compared returns the observation with its texts cut off, as it is stored and compared by workflows.
func (o Observed) Compared() Observed {
	o.Message, o.Hint = fault.Shorten(o.Message, maxCompared), fault.Shorten(o.Hint, maxCompared)
	return o
}
