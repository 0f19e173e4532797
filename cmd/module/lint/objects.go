package lint

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/reserved"
)

// maxObjectSize is the maximum size of an object as JSON. etcd accepts requests of at most 1.5 MiB, which must also
// hold the managed fields and the status.
const maxObjectSize = 1 << 20

// remoteNamespace is the namespace for namespaced objects without a namespace
// (docs/contract.md#namespaces-and-defaults).
const remoteNamespace = "kyma-system"

// identity identifies an object: a module must not contain two objects with the same identity.
type identity struct {
	schema.GroupKind
	namespace, name string
}

// kinds holds what is known about the kinds of a module's objects.
type kinds struct {
	builtin *builtin
	// defined are the kinds that the module defines, custom their schemas.
	defined map[schema.GroupKind]definition
	custom  custom
}

// kindsOf reads the definitions among the objects and reports their errors.
func kindsOf(objects []object, kubeVersion string, report *Report) (kinds, error) {
	known, err := newBuiltin(kubeVersion)
	if err != nil {
		return kinds{}, err
	}
	return kinds{builtin: known, defined: definitionsIn(objects), custom: newCustom(objects, report)}, nil
}

// checkObjects checks each object, and whether all objects fit together.
func checkObjects(objects []object, module config.Module, known kinds, report *Report) {
	first := map[identity]object{}
	for _, item := range objects {
		if !checkIdentity(item, report) {
			continue
		}
		if item.neverRuns {
			continue
		}
		if why := reservedWhy(item); why != "" {
			report.fail(item.file, item.where(), "must not be part of a module: %s", why)
			continue
		}
		if item.size > maxObjectSize {
			report.fail(item.file, item.where(), "has %d bytes; an API server stores at most about %d", item.size, maxObjectSize)
		}
		if inventory.IsKept(item) {
			report.warn(item.file, item.where(), "has helm.sh/resource-policy: keep, so it stays in the cluster when a later version drops it or the module is removed")
		}
		namespaced, isKnown := known.scope(item)
		checkScope(item, namespaced, isKnown, report)
		checkReplacement(item, report)
		warnOfOwners(item, report)
		known.checkFields(item, report)

		key := identity{item.GroupVersionKind().GroupKind(), item.GetNamespace(), item.GetName()}
		switch {
		case isKnown && !namespaced:
			key.namespace = ""
		case key.namespace == "":
			key.namespace = remoteNamespace
		}
		if other, twice := first[key]; twice && item.hook && other.hook {
			continue // they run one after the other
		} else if twice {
			report.fail(item.file, item.where(), "occurs twice; the first is in %s, document %d", other.file, other.document)
			continue
		}
		first[key] = item
	}
	if len(objects) == 0 {
		report.fail(module.File(), "", "the module has no objects")
	}
}

// reservedWhy returns the reason why no module may contain the object, or "" if a module may.
func reservedWhy(item object) string {
	kind := item.GroupVersionKind().GroupKind()
	if why := reserved.Object(kind, types.NamespacedName{Namespace: item.GetNamespace(), Name: item.GetName()}); why != "" {
		return why
	}
	return reserved.Marks(kind, item.GetName(), item.GetLabels())
}

// checkIdentity reports whether the object can be applied.
func checkIdentity(item object, report *Report) bool {
	switch {
	case item.GetAPIVersion() == "" || item.GetKind() == "":
		report.fail(item.file, item.where(), "has no apiVersion or no kind")
	case strings.HasPrefix(item.GetAPIVersion(), "kustomize.config.k8s.io/"):
		report.fail(item.file, item.where(), "%v", layers.ErrKustomize)
	case item.item > 0 && item.IsList():
		report.fail(item.file, item.where(), "is a list within a list")
	case item.GetName() == "" && item.GetGenerateName() != "":
		report.fail(item.file, item.where(), "has generateName but no name; Lifecycle Manager can only maintain objects with a name")
	case item.GetName() == "":
		report.fail(item.file, item.where(), "has no metadata.name")
	default:
		return true
	}
	return false
}

func checkScope(item object, namespaced, known bool, report *Report) {
	switch {
	case !known && item.GetAnnotations()[shared.AnnotationOptional] != shared.ValueTrue:
		report.warn(item.file, item.where(),
			"%s is neither built into Kubernetes nor defined by this module: the module waits until the cluster serves this kind; to skip the object instead, annotate it with %s: \"true\"",
			item.GroupVersionKind().GroupKind(), shared.AnnotationOptional)
	case known && !namespaced && item.GetNamespace() != "":
		report.warn(item.file, item.where(), "%s", clusterScopedText)
	}
}

// checkReplacement warns of a replace annotation that has no effect.
func checkReplacement(item object, report *Report) {
	value, given := item.GetAnnotations()[shared.AnnotationReplace]
	kind := item.GroupVersionKind().GroupKind()
	switch {
	case !given:
	case value != shared.ValueTrue && value != shared.ReplaceWithData:
		report.warn(item.file, item.where(), "the annotation %s: %q is ignored: use %q or %q", shared.AnnotationReplace, value, shared.ValueTrue, shared.ReplaceWithData)
	case kind == (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) || kind == (schema.GroupKind{Kind: "Namespace"}):
		report.warn(item.file, item.where(), "the annotation %s is ignored: Lifecycle Manager never replaces a %s", shared.AnnotationReplace, kind.Kind)
	}
}

// clusterScopedText is the warning about a namespace that an object cannot have.
const clusterScopedText = "is cluster-scoped: its namespace is dropped"

// warnOfOwners warns of owner references, which the installation drops. It reports whether the object has any.
func warnOfOwners(item object, report *Report) bool {
	found, _, _ := unstructured.NestedFieldNoCopy(item.Object, "metadata", "ownerReferences")
	if references, _ := found.([]any); len(references) == 0 {
		return false
	}
	report.warn(item.file, item.where(), "has ownerReferences, which are dropped: the owner's uid belongs to another cluster, so Kubernetes would delete the object")
	return true
}

// definition records the scope and the served versions of a CustomResourceDefinition.
type definition struct {
	namespaced bool
	// served versions.
	served map[string]bool
}

// definitionsIn returns the kinds that the module defines.
func definitionsIn(objects []object) map[schema.GroupKind]definition {
	found := map[schema.GroupKind]definition{}
	for _, item := range objects {
		if item.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			continue
		}
		group, _, _ := unstructured.NestedString(item.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(item.Object, "spec", "names", "kind")
		scope, _, _ := unstructured.NestedString(item.Object, "spec", "scope")
		versions, _, _ := unstructured.NestedSlice(item.Object, "spec", "versions")
		entry := definition{namespaced: scope == "Namespaced", served: map[string]bool{}}
		for _, version := range versions {
			if fields, ok := version.(map[string]any); ok {
				name, _, _ := unstructured.NestedString(fields, "name")
				served, _, _ := unstructured.NestedBool(fields, "served")
				entry.served[name] = served
			}
		}
		found[schema.GroupKind{Group: group, Kind: kind}] = entry
	}
	return found
}

// scope reports whether the object's kind is namespaced. known is false for an unknown kind.
func (k kinds) scope(item object) (namespaced, known bool) {
	kind := item.GroupVersionKind().GroupKind()
	if own, ok := k.defined[kind]; ok {
		return own.namespaced, true
	}
	return k.builtin.scope(kind)
}

// checkFields compares the object with the schema of its kind.
func (k kinds) checkFields(item object, report *Report) {
	if _, own := k.defined[item.GroupVersionKind().GroupKind()]; own {
		k.custom.check(item, report)
		return
	}
	k.builtin.check(item, report)
}

// checkManager checks that the module contains the object that manager names.
func checkManager(objects []object, module config.Module, report *Report) {
	if module.Manager == nil {
		return
	}
	for _, item := range objects {
		namespace := item.GetNamespace()
		wanted := module.Manager.Namespace
		if namespace == "" {
			namespace = remoteNamespace
		}
		if wanted == "" {
			wanted = remoteNamespace
		}
		if item.GroupVersionKind().GroupKind() == module.Manager.Schema().GroupKind() &&
			item.GetName() == module.Manager.Name && namespace == wanted {
			return
		}
	}
	report.fail(module.File(), "manager", "%s %s is not among the module's objects",
		module.Manager.Schema().GroupKind(), module.Manager.Name)
}
