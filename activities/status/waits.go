package status

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// waitsForChange reports whether the Kyma cannot become Ready before somebody changes something. Waiting alone then does
// not help.
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

// IsFinal reports whether only a change can fix a fault. The access Secret is one of the inputs, so creating it is a
// change.
func IsFinal(f fault.Fault) bool {
	return f.Kind == fault.Rejected || f.Reason == clusters.ReasonAccessSecretNotFound
}

// isRefused reports whether nothing more is done for a Manifest's current inputs because they cannot succeed.
func isRefused(m *v1beta2.Manifest) bool {
	return m.Status.Settled && m.Status.KnownState() == shared.StateError && m.Status.ObservedGeneration == m.Generation &&
		m.DeletionTimestamp.IsZero()
}
