package planning

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Wait says whether a Kyma's modules may be down now, and if not, what is waited for.
type Wait struct {
	// Open is true during a maintenance window.
	Open bool
	// Next is when the next window begins; zero where none is known.
	Next time.Time
	// Spare is how much later an upgrade may begin and still have the least time that it is to have.
	Spare time.Duration
	// Problem says why no window is known: the policy cannot be read, or has none for this Kyma.
	Problem string
}

// Turn is when it is a Kyma's turn in the next window; zero where none is known. A window begins for many Kymas at the same
// instant: their upgrades are spread over the pacing span, or half of what the window has to spare where that is less.
func (w Wait) Turn(kyma types.UID, span time.Duration) time.Time {
	if w.Next.IsZero() {
		return time.Time{}
	}
	// Kymas do not keep their places from window to window.
	return w.Next.Add(desired.PacingDelay(kyma, "window "+w.Next.UTC().Format(time.RFC3339), min(span, w.Spare/2)))
}

// Message is for the status, word for word as docs/contract.md#messages has it.
func (w Wait) Message() string { return shared.MessageWaitingForMaintenanceWindow }

// Hint says when the wait ends.
func (w Wait) Hint() string {
	switch {
	case w.Problem != "":
		return w.Problem
	case w.Next.IsZero():
		return ""
	default:
		return "the next maintenance window begins at " + w.Next.UTC().Format(time.RFC3339)
	}
}
