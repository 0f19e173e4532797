package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Aggregate is the state of a Kyma (docs/contract.md#states): any module Error makes it Error; else Warning,
// Warning; else Processing or Deleting, Processing; else any condition that is not True, Processing; else it
// is Ready. A Kyma under deletion is always Deleting. A module that nobody has reconciled yet counts as
// Processing, one that its user manages does not count.
func Aggregate(deleting bool, modules []shared.State, conditions []metav1.ConditionStatus) shared.State {
	if deleting {
		return shared.StateDeleting
	}
	worst := shared.StateReady
	for _, state := range modules {
		if weight(state) > weight(worst) {
			worst = state
		}
	}
	switch worst {
	case shared.StateError, shared.StateWarning:
		return worst
	case shared.StateReady, shared.StateUnmanaged:
	default:
		return shared.StateProcessing
	}
	for _, condition := range conditions {
		if condition != metav1.ConditionTrue {
			return shared.StateProcessing
		}
	}
	return shared.StateReady
}

// weight orders states by how much they say about the whole.
func weight(state shared.State) int {
	switch state {
	case shared.StateReady, shared.StateUnmanaged:
		return 0
	case shared.StateWarning:
		return 2
	case shared.StateError:
		return 3
	default: // Processing, Deleting, not reconciled, and whatever a module may invent
		return 1
	}
}
