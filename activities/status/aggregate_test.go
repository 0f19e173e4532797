package status

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// This test implements the rules of docs/contract.md#states in a second way, and compares the results for every
// combination of up to three modules and two conditions.
func TestAggregateFollowsTheContract(t *testing.T) {
	states := []shared.State{"", "Ready", "Processing", "Error", "Warning", "Deleting", "Unmanaged", "Invented"}
	conditions := []metav1.ConditionStatus{"True", "False", "Unknown"}
	has := func(modules []shared.State, wanted ...shared.State) bool {
		for _, module := range modules {
			for _, state := range wanted {
				if module == state {
					return true
				}
			}
		}
		return false
	}
	want := func(deleting bool, modules []shared.State, conditions []metav1.ConditionStatus) shared.State {
		allTrue := true
		for _, condition := range conditions {
			allTrue = allTrue && condition == "True"
		}
		switch {
		case deleting:
			return "Deleting"
		case has(modules, "Error"):
			return "Error"
		case has(modules, "Warning"):
			return "Warning"
		case has(modules, "Processing", "Deleting", "", "Invented"):
			return "Processing"
		case !allTrue:
			return "Processing"
		default:
			return "Ready"
		}
	}
	var moduleLists [][]shared.State
	moduleLists = append(moduleLists, nil)
	for _, a := range states {
		moduleLists = append(moduleLists, []shared.State{a})
		for _, b := range states {
			moduleLists = append(moduleLists, []shared.State{a, b})
			for _, c := range states {
				moduleLists = append(moduleLists, []shared.State{a, b, c})
			}
		}
	}
	var conditionLists [][]metav1.ConditionStatus
	conditionLists = append(conditionLists, nil)
	for _, a := range conditions {
		conditionLists = append(conditionLists, []metav1.ConditionStatus{a})
		for _, b := range conditions {
			conditionLists = append(conditionLists, []metav1.ConditionStatus{a, b})
		}
	}
	for _, deleting := range []bool{false, true} {
		for _, modules := range moduleLists {
			for _, conditions := range conditionLists {
				require.Equal(t, want(deleting, modules, conditions), Aggregate(deleting, modules, conditions),
					fmt.Sprint(deleting, modules, conditions))
			}
		}
	}
}
