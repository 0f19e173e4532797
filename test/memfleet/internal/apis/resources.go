package apis

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// Resource returns in which version a resource of a cluster is served: the preferred one.
func (s *Server) Resource(c *store.Cluster, resource schema.GroupResource) (schema.GroupVersionResource, error) {
	if resource.Group == "" {
		return resource.WithVersion("v1"), nil
	}
	for _, group := range s.groups.groups {
		if group.Name == resource.Group {
			return resource.WithVersion(group.PreferredVersion.Version), nil
		}
	}
	if served, ok := s.Custom(c, resource); ok {
		return served.GroupVersionResource, nil
	}
	return schema.GroupVersionResource{}, fmt.Errorf("%s is not served", resource)
}
