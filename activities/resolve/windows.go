package resolve

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/windows"
)

// PolicyWindows finds the windows of a maintenance policy. Without a policy, no upgrade waits. If the policy is invalid,
// every upgrade that needs a window waits.
type PolicyWindows struct {
	Policies interface {
		Policy() (*windows.Policy, error)
	}
	// MinSize is how much of an ongoing window must be left for the window to count (--min-maintenance-window-size).
	MinSize time.Duration
	Now     func() time.Time
}

// Window implements Windows.
func (w PolicyWindows) Window(labels map[string]string) planning.Wait {
	policy, err := w.Policies.Policy()
	switch {
	case err != nil:
		return planning.Wait{Problem: "the maintenance policy cannot be used: " + err.Error()}
	case policy == nil:
		return planning.Wait{Open: true}
	}
	now := w.Now()
	begin, end, found := policy.Next(labels, now, w.MinSize)
	switch {
	case !found:
		return planning.Wait{Problem: "the maintenance policy has no further window for this Kyma"}
	case begin.After(now):
		return planning.Wait{Next: begin, Spare: max(end.Sub(begin)-w.MinSize, 0)}
	}
	return planning.Wait{Open: true}
}
