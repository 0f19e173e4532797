package planning

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Wait says whether a Kyma's modules may be down now and, if not, for which window they wait.
type Wait struct {
	// Open is true during a maintenance window.
	Open bool
	// Next is when the next window begins; zero if no window is known.
	Next time.Time
	// Spare is how much later an upgrade may begin and still have the minimum time.
	Spare time.Duration
	// Problem says why no window is known: the policy cannot be read, or has no window for this Kyma.
	Problem string
}

// Turn returns when a Kyma gets its turn in the next window; zero if no window is known. A window begins for many Kymas
// at the same instant, so Turn spreads their upgrades over the pacing span, or over half of Spare if that is shorter.
func (w Wait) Turn(kyma types.UID, span time.Duration) time.Time {
	if w.Next.IsZero() {
		return time.Time{}
	}
	// The name of the window is part of the hash, so that Kymas do not keep their places from window to window.
	return w.Next.Add(desired.PacingDelay(kyma, "window "+w.Next.UTC().Format(time.RFC3339), min(span, w.Spare/2)))
}

// Message returns the message for the status, word for word as in docs/contract.md#messages.
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
