package clusters

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// These methods implement meta.RESTMapper for the Kubernetes libraries. That interface has no context; the HTTP
// client's timeout bounds the requests.

// RESTMapping returns the mapping for the first of the versions that the cluster serves.
func (m *Mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) == 0 {
		versions = []string{""}
	}
	var err error
	for _, version := range versions {
		var r kinds.Resource
		if r, err = m.Resource(context.Background(), gk.WithVersion(version)); err == nil {
			return mapping(gk, r), nil
		}
		if !meta.IsNoMatchError(err) {
			return nil, err
		}
	}
	return nil, err
}

// RESTMappings returns the mapping of RESTMapping as a list.
func (m *Mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	one, err := m.RESTMapping(gk, versions...)
	if err != nil {
		return nil, err
	}
	return []*meta.RESTMapping{one}, nil
}

// KindFor returns the kind of a resource with this plural name.
func (m *Mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return m.Kind(context.Background(), resource)
}

// KindsFor returns the kind of KindFor as a list.
func (m *Mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	one, err := m.KindFor(resource)
	if err != nil {
		return nil, err
	}
	return []schema.GroupVersionKind{one}, nil
}

// ResourceFor adds the version to a resource that lacks it.
func (m *Mapper) ResourceFor(resource schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	gvk, err := m.KindFor(resource)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return gvk.GroupVersion().WithResource(resource.Resource), nil
}

// ResourcesFor returns the resource of ResourceFor as a list.
func (m *Mapper) ResourcesFor(resource schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	one, err := m.ResourceFor(resource)
	if err != nil {
		return nil, err
	}
	return []schema.GroupVersionResource{one}, nil
}

// ResourceSingularizer returns the name unchanged, because only people at a command line use singular names.
func (m *Mapper) ResourceSingularizer(resource string) (string, error) { return resource, nil }

func mapping(gk schema.GroupKind, r kinds.Resource) *meta.RESTMapping {
	scope := meta.RESTScopeRoot
	if r.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	return &meta.RESTMapping{Resource: r.GroupVersionResource, GroupVersionKind: gk.WithVersion(r.Version), Scope: scope}
}
