package shared

import (
	"fmt"
	"slices"
)

// StateRule says which objects decide the state of a module. The two generations of Kyma's own Lifecycle Manager differ
// here, and users of each expect the rule of their generation.
type StateRule string

const (
	// StateFromCustomResource is the older rule, and the default: all of a module's objects must be ready, and the
	// workload in spec.manager too. Then the default custom resource decides, by customStateCheck or by its
	// status.state.
	StateFromCustomResource StateRule = "custom-resource"
	// StateFromWorkloads is the newer rule: the module's Deployments and StatefulSets decide. A module without any is
	// Ready. The state of its custom resource does not count.
	StateFromWorkloads StateRule = "workloads"
)

// StateRules returns all rules. The default comes first.
func StateRules() []StateRule { return []StateRule{StateFromCustomResource, StateFromWorkloads} }

// Set sets the rule by its name. It returns an error that lists all names if there is no such rule. Together with
// String and Type it implements the value of a flag.
func (r *StateRule) Set(name string) error {
	if !slices.Contains(StateRules(), StateRule(name)) {
		return fmt.Errorf("must be %s or %s", StateFromCustomResource, StateFromWorkloads)
	}
	*r = StateRule(name)
	return nil
}

func (r *StateRule) String() string { return string(*r) }

// Type returns the type of the flag's value.
func (r *StateRule) Type() string { return "string" }

// OnlyWorkloads reports whether only workloads count. It returns false for the zero value, which means the default
// rule.
func (r StateRule) OnlyWorkloads() bool { return r == StateFromWorkloads }
