package status

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// waitsForChange tells whether the Kyma cannot become Ready before somebody changes something: waiting alone does not
// help whoever waits for it.
func waitsForChange(o observation) bool {
	if !o.kyma.DeletionTimestamp.IsZero() {
		return false
	}
	if o.in.Faults.Any(IsFinal) {
		return true
	}
	for i := range o.view.Modules {
		plan := &o.view.Modules[i]
		if plan.Refusal != nil && !plan.Refusal.Transient {
			return true
		}
		if plan.Refusal == nil && plan.Manifest == nil && plan.Existing != nil && isRefused(plan.Existing) {
			return true
		}
	}
	return false
}

// IsFinal tells whether a fault is one that only a change can fix; the access Secret is one of the inputs.
func IsFinal(f fault.Fault) bool {
	return f.Kind == fault.Rejected || f.Reason == clusters.ReasonAccessSecretNotFound
}

// isRefused tells whether nothing more is done for what a Manifest asks for now, as it cannot succeed.
func isRefused(m *v1beta2.Manifest) bool {
	return m.Status.Settled && m.Status.KnownState() == shared.StateError && m.Status.ObservedGeneration == m.Generation &&
		m.DeletionTimestamp.IsZero()
}
