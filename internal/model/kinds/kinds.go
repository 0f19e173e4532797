package kinds

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/reserved"
)

// IsBuiltIn reports whether Kubernetes itself serves a kind, in the groups that modules use. All other kinds count as
// custom resources.
func IsBuiltIn(kind schema.GroupKind) bool {
	_, known := BuiltIn(kind)
	return known
}

// IsJob reports whether a kind is Job.
func IsJob(kind schema.GroupKind) bool { return kind == schema.GroupKind{Group: groupBatch, Kind: Job} }

// RunsToCompletion reports whether objects of a kind run to completion. A chart's hook of any other kind has finished
// as soon as it is created.
func RunsToCompletion(kind schema.GroupKind) bool { return factsOf(kind).completes }

// PodSpecPath returns the path of the pod spec in objects of a kind, and whether there is one.
func PodSpecPath(kind schema.GroupKind) ([]string, bool) {
	spec := factsOf(kind).podSpec
	return spec.path(), spec != noPodSpec
}

// Usual returns the built-in kinds that modules usually consist of.
func Usual() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for row := range table {
		kind := schema.GroupKind{Group: row.group, Kind: row.kind}
		if builtIn, ok := BuiltIn(kind); ok && row.usual {
			all = append(all, kind.WithVersion(builtIn.Version))
		}
	}
	return all
}

// ExistenceOnly reports whether an object of a kind is healthy as soon as it exists.
func ExistenceOnly(gvk schema.GroupVersionKind) bool { return factsOf(gvk.GroupKind()).existenceOnly }

// IsProtected reports whether an object is protected: removing a module never deletes it, and no module owns it,
// whatever labels and annotations it has.
func IsProtected(gvk schema.GroupVersionKind, name types.NamespacedName) bool {
	if reserved.Object(gvk.GroupKind(), name) != "" {
		return true
	}
	if !IsShared(gvk.GroupKind()) {
		return false
	}
	switch name.Name {
	case shared.NamespaceRemote, shared.NamespaceControlPlane, shared.NamespaceKubeSystem, "default", "kube-public", "kube-node-lease":
		return true
	}
	return false
}

// IsShared reports whether several modules may bring the same object of a kind. The module that created the object
// keeps the ownership annotation.
func IsShared(kind schema.GroupKind) bool { return factsOf(kind).shared }

// HoldsData reports whether deleting objects of a kind deletes data that no rendering restores. These kinds are volumes
// and volume claims, StatefulSets, namespaces, CustomResourceDefinitions, and custom resources, because their operators
// may clean up after them.
func HoldsData(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "PersistentVolume"}, schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: Namespace},
		schema.GroupKind{Group: GroupApps, Kind: StatefulSet}, DefinitionKind():
		return true
	}
	return !IsBuiltIn(kind)
}

// RunsPods reports whether a workload of a kind has pods that say why it is not ready.
func RunsPods(kind schema.GroupKind) bool {
	known := factsOf(kind)
	return known.health && known.podSpec != noPodSpec
}

// DefinitionKind returns the kind CustomResourceDefinition.
func DefinitionKind() schema.GroupKind {
	return schema.GroupKind{Group: GroupExtensions, Kind: CRD}
}
