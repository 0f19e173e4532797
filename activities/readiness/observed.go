package readiness

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
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
