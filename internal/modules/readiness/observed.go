package readiness

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Observed is the observed state of a module. Its status shows it, and a wait compares with it.
type Observed struct {
	State   shared.State `json:"state"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	// Hint is the remedy in this case; empty if the hint for the reason is enough.
	Hint string `json:"hint,omitempty"`
	// DefaultCRWanted is true if the module's resources are ready and its default custom resource has to be created.
	DefaultCRWanted bool `json:"defaultCRWanted,omitempty"`
	// Unreachable is true if the cluster could not be reached. State is then an earlier state.
	Unreachable bool `json:"unreachable,omitempty"`
	// Ready and Total count the applied objects.
	Ready int32 `json:"ready,omitempty"`
	Total int32 `json:"total,omitempty"`
}

// SameAs reports whether two observations are the same for users. It does not compare counts.
func (o Observed) SameAs(other Observed) bool {
	return o.State == other.State && o.Reason == other.Reason && o.Message == other.Message && o.Hint == other.Hint
}

// maxCompared bounds the texts of an observation that is stored in a workflow's history, or carried over to its next
// run, to compare with later ones. The Manifest's status has the whole texts.
const maxCompared = 200

// Compared returns the observation with shortened texts, as workflows store and compare it.
func (o Observed) Compared() Observed {
	o.Message, o.Hint = fault.Shorten(o.Message, maxCompared), fault.Shorten(o.Hint, maxCompared)
	return o
}
