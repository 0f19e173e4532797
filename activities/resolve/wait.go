package resolve

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Wait says whether a Kyma's modules may be down now, and if not, what is waited for.
type Wait struct {
	// Open is true during a maintenance window.
	Open bool
	// Next is when the next window begins; zero where none is known.
	Next time.Time
	// Problem says why no window is known: the policy cannot be read, or has none for this Kyma.
	Problem string
}

// Message is for the status.
func (w Wait) Message() string {
	switch {
	case w.Problem != "":
		return shared.MessageWaitingForMaintenanceWindow + ": " + w.Problem
	case w.Next.IsZero():
		return shared.MessageWaitingForMaintenanceWindow
	default:
		return shared.MessageWaitingForMaintenanceWindow + ", which begins at " + w.Next.UTC().Format(time.RFC3339)
	}
}
