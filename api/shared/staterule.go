package shared

import (
	"fmt"
	"slices"
)

// StateRule says whose state is a module's state. The two generations of Kyma's own Lifecycle Manager differ in it, and
// users of both expect theirs.
type StateRule string

const (
	// StateFromCustomResource is the older rule, and the default: all of a module's objects must be ready, and the object
	// of spec.manager too. Then the default custom resource decides, by customStateCheck or by its status.state.
	StateFromCustomResource StateRule = "custom-resource"
	// StateFromWorkloads is the newer rule: a module is as ready as its Deployments and StatefulSets, and Ready if it has
	// none. What the custom resource reports is the module's own business.
	StateFromWorkloads StateRule = "workloads"
)

// StateRules returns all rules, the default first.
func StateRules() []StateRule { return []StateRule{StateFromCustomResource, StateFromWorkloads} }

// Set takes the rule of this name, or returns an error that lists all names. With String and Type it makes a rule the value
// of a flag.
func (r *StateRule) Set(name string) error {
	if !slices.Contains(StateRules(), StateRule(name)) {
		return fmt.Errorf("must be %s or %s", StateFromCustomResource, StateFromWorkloads)
	}
	*r = StateRule(name)
	return nil
}

func (r *StateRule) String() string { return string(*r) }

// Type is that of the flag's value.
func (r *StateRule) Type() string { return "string" }

// OnlyWorkloads reports whether nothing but workloads counts. The zero value is the default rule.
func (r StateRule) OnlyWorkloads() bool { return r == StateFromWorkloads }
