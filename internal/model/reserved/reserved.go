// Package reserved knows what is Lifecycle Manager's own in a cluster. No module may bring it: what a module brings is
// applied over what is there, and goes with the module.
package reserved

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Object says why no module may bring an object; empty where it may. The group of our definitions is also that of the
// modules' own, so that only our kinds count. Of an object without a namespace, that where the agent is is meant.
func Object(kind schema.GroupKind, name types.NamespacedName) string {
	switch {
	case kind == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		plural, group, _ := strings.Cut(name.Name, ".")
		if group == shared.OperatorGroup && slices.Contains(plurals(), plural) {
			return "this definition is Lifecycle Manager's own"
		}
	case kind.Group == shared.OperatorGroup && kind.Kind != shared.KindWatcher && slices.Contains(kinds(), kind.Kind):
		return "objects of this kind are Lifecycle Manager's own"
	case IsAgents(kind, name):
		return "it is part of Lifecycle Manager's agent"
	}
	return ""
}

// IsAgents tells whether an object is one of those that the agent consists of.
func IsAgents(kind schema.GroupKind, name types.NamespacedName) bool {
	return slices.Contains(agent(), part{kind, name.Name}) && slices.Contains([]string{"", shared.NamespaceRemote}, name.Namespace)
}

// Marks says why no module may bring a namespace with these labels; empty where it may. That a module brings the
// namespaces where Lifecycle Manager works is usual; it does not change what is done to all who work there.
func Marks(kind schema.GroupKind, name string, labels map[string]string) string {
	if kind != (schema.GroupKind{Kind: "Namespace"}) || !slices.Contains([]string{shared.NamespaceRemote, shared.NamespaceControlPlane, shared.NamespaceIstio}, name) {
		return ""
	}
	for _, label := range []string{shared.LabelIstioInjection, shared.LabelWardenValidate} {
		if value, set := labels[label]; set && value != shared.ValueEnabled {
			return fmt.Sprintf("label %s of this namespace is for Lifecycle Manager to set", label)
		}
	}
	return ""
}

// kinds are those that we define. A Watcher may come with a module for the control plane.
func kinds() []string {
	return []string{shared.KindKyma, shared.KindModuleTemplate, shared.KindModuleReleaseMeta, shared.KindManifest, shared.KindWatcher, shared.KindModuleRollout, shared.KindRolloutPolicy, shared.KindRemovalBudget, shared.KindRemoteAgent}
}

// plurals are the names of their resources.
func plurals() []string {
	return []string{
		shared.ResourceKymas, shared.ResourceModuleTemplates, shared.ResourceModuleReleaseMetas, shared.ResourceManifests, shared.ResourceWatchers,
		shared.ResourceModuleRollouts, shared.ResourceRolloutPolicies, shared.ResourceRemovalBudgets, shared.ResourceRemoteAgents,
	}
}

// part is one of the objects that the agent in a remote cluster consists of (docs/contract.md#agent).
type part struct {
	schema.GroupKind
	name string
}

func agent() []part {
	parts := []part{
		{schema.GroupKind{Group: "apps", Kind: "Deployment"}, shared.AgentName},
		{schema.GroupKind{Kind: "Service"}, shared.AgentName},
		{schema.GroupKind{Kind: "Service"}, shared.AgentMetricsService},
		{schema.GroupKind{Kind: "Secret"}, shared.AgentSecret},
		{schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"}, shared.AgentPriorityClass},
		{schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}, shared.AgentName},
	}
	for _, name := range shared.AgentNetworkPolicies() {
		parts = append(parts, part{schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, name})
	}
	return parts
}
