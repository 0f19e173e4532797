package resolve

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/windows"
)

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
