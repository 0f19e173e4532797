package resolve

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/activities/windows"
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

// Message is for the status, word for word as the contract has it.
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

// PolicyWindows answers for the windows of a maintenance policy. Without a policy nothing waits; while there is one
// that cannot be understood, everything does.
type PolicyWindows struct {
	Policies interface {
		Policy() (*windows.Policy, error)
	}
	// MinSize is how much of an ongoing window must be left for it to count (flag min-maintenance-window-size).
	MinSize time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Window implements Windows.
func (w PolicyWindows) Window(labels map[string]string) Wait {
	policy, err := w.Policies.Policy()
	switch {
	case err != nil:
		return Wait{Problem: "the maintenance policy cannot be used: " + err.Error()}
	case policy == nil:
		return Wait{Open: true}
	}
	now := w.Now()
	begin, _, found := policy.Next(labels, now, w.MinSize)
	switch {
	case !found:
		return Wait{Problem: "the maintenance policy has no further window for this Kyma"}
	case begin.After(now):
		return Wait{Next: begin}
	}
	return Wait{Open: true}
}
