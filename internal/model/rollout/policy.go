package rollout

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Subject is a channel of a module.
type Subject struct {
	Module string
	// Labels are the labels of the module's ModuleReleaseMeta.
	Labels map[string]string
	// Channel is empty for a mandatory module.
	Channel string
}

// PolicyFor returns the policy of a channel; nil if there is none. A policy that names the module goes before one that
// selects its ModuleReleaseMeta, and that goes before one for all modules. If several are equal, the first by name
// counts.
func PolicyFor(policies []v1beta2.RolloutPolicy, of Subject, ours func(labels map[string]string) bool) *v1beta2.RolloutPolicy {
	var best *v1beta2.RolloutPolicy
	rank := 0
	for i := range policies {
		policy := &policies[i]
		if !ours(policy.Labels) || !policy.DeletionTimestamp.IsZero() {
			continue
		}
		if is := rankOf(policy.Spec, of); is > rank || is == rank && is > 0 && policy.Name < best.Name {
			best, rank = policy, is
		}
	}
	return best
}

func rankOf(spec v1beta2.RolloutPolicySpec, of Subject) int {
	if of.Channel == "" && !spec.Mandatory || of.Channel != "" && len(spec.Channels) > 0 && !slices.Contains(spec.Channels, of.Channel) {
		return 0
	}
	switch {
	case slices.Contains(spec.Modules, of.Module):
		return 3
	case spec.Selector != nil:
		selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
		if err == nil && selector.Matches(labels.Set(of.Labels)) {
			return 2
		}
		return 0
	case len(spec.Modules) == 0:
		return 1
	default:
		return 0
	}
}
