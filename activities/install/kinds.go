package install

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
)

// definition is what a module's own CustomResourceDefinition says of a kind.
type definition struct {
	plural     string
	namespaced bool
	versions   []string
	// converted is true when a webhook converts between the versions.
	converted bool
}

// resourceMapper answers for kinds that are neither built in nor brought by the module; *clusters.Mapper does.
type resourceMapper interface {
	Resource(ctx context.Context, gvk schema.GroupVersionKind) (clusters.Resource, error)
}

// kinds says how the kinds of one module are addressed. What the module defines itself and what is built
// in costs no request.
type kinds struct {
	own    map[schema.GroupKind]definition
	mapper resourceMapper
}

func (k kinds) resource(ctx context.Context, gvk schema.GroupVersionKind) (clusters.Resource, error) {
	if d, ok := k.own[gvk.GroupKind()]; ok {
		for _, version := range d.versions {
			if version == gvk.Version {
				return clusters.Resource{GroupVersionResource: gvk.GroupVersion().WithResource(d.plural), Namespaced: d.namespaced}, nil
			}
		}
	}
	return k.mapper.Resource(ctx, gvk)
}

// groupVersions are the API versions that the module's definitions serve.
func (k kinds) groupVersions() map[schema.GroupVersion][]string {
	all := map[schema.GroupVersion][]string{}
	for kind, d := range k.own {
		for _, version := range d.versions {
			gv := schema.GroupVersion{Group: kind.Group, Version: version}
			all[gv] = append(all[gv], kind.Kind)
		}
	}
	return all
}

// isBuiltIn tells whether Kubernetes itself serves a kind. A group of Kubernetes that is not in the table
// counts as built in only by its name: such objects are configuration and no custom resources.
func isBuiltIn(kind schema.GroupKind) bool {
	_, known := clusters.BuiltIn(kind)
	return known
}

// versionsOf are all versions of a CustomResourceDefinition, whether served or not.
func versionsOf(crd *unstructured.Unstructured) []string {
	var all []string
	versions, _, _ := unstructured.NestedSlice(crd.Object, pathSpec, "versions")
	for _, version := range versions {
		if v, ok := version.(map[string]any); ok {
			name, _, _ := unstructured.NestedString(v, "name")
			all = append(all, name)
		}
	}
	return all
}

// definedBy is the resource that a definition defines, by the definition's name: <plural>.<group>.
func definedBy(name string) schema.GroupVersionResource {
	plural, group, _ := strings.Cut(name, ".")
	return schema.GroupVersionResource{Group: group, Resource: plural}
}

// definitionOf reads a CustomResourceDefinition. What it leaves out is the cluster's to refuse.
func definitionOf(crd *unstructured.Unstructured) (schema.GroupKind, definition, bool) {
	group, _, _ := unstructured.NestedString(crd.Object, pathSpec, "group")
	kind, _, _ := unstructured.NestedString(crd.Object, pathSpec, "names", "kind")
	plural, _, _ := unstructured.NestedString(crd.Object, pathSpec, "names", "plural")
	scope, _, _ := unstructured.NestedString(crd.Object, pathSpec, "scope")
	strategy, _, _ := unstructured.NestedString(crd.Object, pathSpec, "conversion", "strategy")
	d := definition{plural: plural, namespaced: scope == "Namespaced", converted: strategy == "Webhook"}
	versions, _, _ := unstructured.NestedSlice(crd.Object, pathSpec, "versions")
	for _, version := range versions {
		v, ok := version.(map[string]any)
		if !ok {
			continue
		}
		name, _, _ := unstructured.NestedString(v, "name")
		if served, _, _ := unstructured.NestedBool(v, "served"); served && name != "" {
			d.versions = append(d.versions, name)
		}
	}
	return schema.GroupKind{Group: group, Kind: kind}, d, group != "" && kind != "" && plural != ""
}
