package readiness

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/statecheck"
)

// ReportedState returns the state that the default custom resource gives a Manifest's module. If only workloads
// count, ReportedState returns Ready, so that the custom resource never decides.
func ReportedState(rule shared.StateRule, m *v1beta2.Manifest, cr *unstructured.Unstructured) (shared.State, error) {
	if rule.OnlyWorkloads() {
		return shared.StateReady, nil
	}
	checks, err := StateChecks(m)
	if err != nil {
		return shared.StateUnknown, err
	}
	return MapState(cr, checks), nil
}

// MapState reads the state of a module from its custom resource: with the checks if there are any, and from
// `.status.state` otherwise. The first matching check that is not for Ready decides. The module is Ready if, for
// every path of a check for Ready, one of the checks for this path matches. A missing or unknown state is Processing,
// because nothing is Ready by default.
func MapState(cr *unstructured.Unstructured, checks []v1beta2.CustomStateCheck) shared.State {
	if !cr.GetDeletionTimestamp().IsZero() {
		return shared.StateDeleting
	}
	if len(checks) > 0 {
		return mapChecks(cr, checks)
	}
	reported, _, err := unstructured.NestedString(cr.Object, kinds.PathStatus, "state")
	state := shared.State(reported)
	switch {
	case err != nil, state == shared.StateUnknown, state == shared.StateUnmanaged, !state.IsKnown():
		return shared.StateProcessing
	}
	return state
}

func mapChecks(cr *unstructured.Unstructured, checks []v1beta2.CustomStateCheck) shared.State {
	ready := map[string]bool{}
	for _, check := range checks {
		matches := valueAt(cr, check.JSONPath) == check.Value
		if check.MappedState != shared.StateReady {
			if matches {
				return check.MappedState
			}
			continue
		}
		ready[check.JSONPath] = ready[check.JSONPath] || matches
	}
	for _, matched := range ready {
		if !matched {
			return shared.StateProcessing
		}
	}
	if len(ready) == 0 {
		return shared.StateProcessing
	}
	return shared.StateReady
}

// valueAt evaluates a JSONPath; "" if the value is missing.
func valueAt(cr *unstructured.Unstructured, path string) string {
	parser, err := statecheck.Parse(path)
	if err != nil {
		return ""
	}
	var text strings.Builder
	if err := parser.Execute(&text, cr.Object); err != nil {
		return ""
	}
	return text.String()
}

// StateChecks returns the Manifest's state checks. Invalid checks are an error that no retry resolves. If they were
// ignored, the state would be read from another place than the module's team defined, and an invalid path would never
// match.
func StateChecks(m *v1beta2.Manifest) ([]v1beta2.CustomStateCheck, error) {
	encoded := m.Annotations[desired.AnnotationCustomStateCheck]
	if encoded == "" {
		return nil, nil
	}
	var checks []v1beta2.CustomStateCheck
	if err := json.Unmarshal([]byte(encoded), &checks); err != nil {
		return nil, fault.New(fault.Rejected, ReasonInvalidStateCheck, "annotation %s of Manifest %s/%s is not a list of checks: %w",
			desired.AnnotationCustomStateCheck, m.Namespace, m.Name, err)
	}
	for _, check := range checks {
		if _, err := statecheck.Parse(check.JSONPath); err != nil {
			return nil, fault.New(fault.Rejected, ReasonInvalidStateCheck, "the module's customStateCheck: %w", err)
		}
	}
	return checks, nil
}
