// Package reserved knows which objects in a cluster belong to Lifecycle Manager. No module may bring them: they would
// be overwritten when the module is installed, and deleted with the module.
package reserved

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Object says why no module may bring an object; empty if a module may bring it. Modules define kinds in our API group
// too, so only our own kinds are refused. An object without a namespace counts as being in the agent's namespace.
func Object(kind schema.GroupKind, name types.NamespacedName) string {
	switch {
	case kind == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		plural, group, _ := strings.Cut(name.Name, ".")
		if group == shared.OperatorGroup && slices.Contains(plurals(), plural) {
			return "this CustomResourceDefinition belongs to Lifecycle Manager"
		}
	case kind.Group == shared.OperatorGroup && kind.Kind != shared.KindWatcher && slices.Contains(kinds(), kind.Kind):
		return "objects of this kind belong to Lifecycle Manager"
	case IsAgents(kind, name):
		return "the object is part of Lifecycle Manager's agent"
	}
	return ""
}

// IsAgents reports whether an object belongs to the agent.
func IsAgents(kind schema.GroupKind, name types.NamespacedName) bool {
	return slices.Contains(agent(), part{kind, name.Name}) && slices.Contains([]string{"", shared.NamespaceRemote}, name.Namespace)
}

// Marks says why no module may bring a namespace with these labels; empty if a module may bring it. Modules usually
// bring the namespaces in which Lifecycle Manager works, but must not change labels that affect everything in them.
func Marks(kind schema.GroupKind, name string, labels map[string]string) string {
	if kind != (schema.GroupKind{Kind: "Namespace"}) || !slices.Contains([]string{shared.NamespaceRemote, shared.NamespaceControlPlane, shared.NamespaceIstio}, name) {
		return ""
	}
	for _, label := range []string{shared.LabelIstioInjection, shared.LabelWardenValidate} {
		if value, set := labels[label]; set && value != shared.ValueEnabled {
			return fmt.Sprintf("only Lifecycle Manager sets label %s of this namespace", label)
		}
	}
	return ""
}

// kinds returns the kinds that we define. A module for the control plane may bring a Watcher, see Object.
func kinds() []string {
	return []string{shared.KindKyma, shared.KindModuleTemplate, shared.KindModuleReleaseMeta, shared.KindManifest, shared.KindWatcher, shared.KindModuleRollout, shared.KindRolloutPolicy, shared.KindRemovalBudget, shared.KindRemoteAgent}
}

// plurals returns the resource names of our kinds.
func plurals() []string {
	return []string{
		shared.ResourceKymas, shared.ResourceModuleTemplates, shared.ResourceModuleReleaseMetas, shared.ResourceManifests, shared.ResourceWatchers,
		shared.ResourceModuleRollouts, shared.ResourceRolloutPolicies, shared.ResourceRemovalBudgets, shared.ResourceRemoteAgents,
	}
}

// part is one of the agent's objects in a remote cluster (docs/contract.md#agent).
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
