package kinds

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is the REST resource of a kind.
type Resource struct {
	schema.GroupVersionResource
	Namespaced bool
}

// Definition describes a kind that a module's own CustomResourceDefinition defines.
type Definition struct {
	plural     string
	namespaced bool
	versions   []string
	// Converted is true if a webhook converts between the versions.
	Converted bool
}

// ClusterMapper maps the kinds that the module does not define itself; clusters.Mapper implements it.
type ClusterMapper interface {
	Resource(ctx context.Context, gvk schema.GroupVersionKind) (Resource, error)
}

// Mapper maps the kinds of one module to resources. It sends no request for built-in kinds and for kinds that the
// module defines itself.
type Mapper struct {
	// Own are the kinds that the module defines.
	Own     map[schema.GroupKind]Definition
	Cluster ClusterMapper
}

// Resource returns the resource of a kind.
func (k Mapper) Resource(ctx context.Context, gvk schema.GroupVersionKind) (Resource, error) {
	if d, ok := k.Own[gvk.GroupKind()]; ok {
		for _, version := range d.versions {
			if version == gvk.Version {
				return Resource{GroupVersionResource: gvk.GroupVersion().WithResource(d.plural), Namespaced: d.namespaced}, nil
			}
		}
	}
	return k.Cluster.Resource(ctx, gvk)
}

// Served returns the resource of a kind, in this version or, if the cluster no longer serves it, in another one. The
// objects are the same in each version, so a record of an object stays valid when its version is no longer served.
func (k Mapper) Served(ctx context.Context, gvk schema.GroupVersionKind) (Resource, error) {
	resource, err := k.Resource(ctx, gvk)
	if gvk.Version != "" && meta.IsNoMatchError(err) {
		gvk.Version = ""
		resource, err = k.Cluster.Resource(ctx, gvk)
	}
	return resource, err
}

// GroupVersions returns the API versions that the module's definitions serve, with the kinds in each.
func (k Mapper) GroupVersions() map[schema.GroupVersion][]string {
	all := map[schema.GroupVersion][]string{}
	for kind, d := range k.Own {
		for _, version := range d.versions {
			gv := schema.GroupVersion{Group: kind.Group, Version: version}
			all[gv] = append(all[gv], kind.Kind)
		}
	}
	return all
}

// DefinitionVersions returns all versions of a CustomResourceDefinition, whether served or not.
func DefinitionVersions(crd *unstructured.Unstructured) []string {
	var all []string
	versions, _, _ := unstructured.NestedSlice(crd.Object, PathSpec, "versions")
	for _, version := range versions {
		if v, ok := version.(map[string]any); ok {
			name, _, _ := unstructured.NestedString(v, "name")
			all = append(all, name)
		}
	}
	return all
}

// ResourceOfDefinition returns the resource that a definition defines, from the definition's name: <plural>.<group>.
func ResourceOfDefinition(name string) schema.GroupVersionResource {
	plural, group, _ := strings.Cut(name, ".")
	return schema.GroupVersionResource{Group: group, Resource: plural}
}

// ReadDefinition reads a CustomResourceDefinition. It also reports whether group, kind and plural are set, which the
// address of its objects needs. The cluster validates everything else.
func ReadDefinition(crd *unstructured.Unstructured) (schema.GroupKind, Definition, bool) {
	group, _, _ := unstructured.NestedString(crd.Object, PathSpec, "group")
	kind, _, _ := unstructured.NestedString(crd.Object, PathSpec, "names", "kind")
	plural, _, _ := unstructured.NestedString(crd.Object, PathSpec, "names", "plural")
	scope, _, _ := unstructured.NestedString(crd.Object, PathSpec, "scope")
	strategy, _, _ := unstructured.NestedString(crd.Object, PathSpec, "conversion", "strategy")
	d := Definition{plural: plural, namespaced: scope == "Namespaced", Converted: strategy == "Webhook"}
	versions, _, _ := unstructured.NestedSlice(crd.Object, PathSpec, "versions")
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

// IsUnserved reports whether a server does not know the path of a request, for example because it does not serve the
// kind. The answer differs from a missing object: a server names a missing object in a Status, and answers an unknown
// path with plain text.
func IsUnserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err)
}

// IgnoreNoMatch returns nil if the error says that a cluster does not serve a kind, and else the error itself.
func IgnoreNoMatch(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
