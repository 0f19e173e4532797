package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Aggregate returns the state of a Kyma (docs/contract.md#states). A Kyma under deletion is Deleting. Otherwise the first
// matching rule decides: any module in Error makes the Kyma Error; any in Warning makes it Warning; any in Processing or
// Deleting makes it Processing; any condition that is not True makes it Processing; else it is Ready. A module that has
// not been reconciled yet counts as Processing. An unmanaged module does not count.
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

// weight orders states by how much they affect the Kyma's state.
func weight(state shared.State) int {
	switch state {
	case shared.StateReady, shared.StateUnmanaged:
		return 0
	case shared.StateWarning:
		return 2
	case shared.StateError:
		return 3
	default: // Processing, Deleting, not reconciled yet, and unknown states
		return 1
	}
}
