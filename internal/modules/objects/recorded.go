package objects

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// Recorded reads an object by a recorded kind and name. If a later version of the module has stopped serving the
// recorded API version, Recorded reads the object in another version. It returns nil if the object is missing or the
// cluster serves no version of its kind.
func Recorded(ctx context.Context, c *clusters.Cluster, gvk schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	mapper := kinds.Mapper{Cluster: c.Mapper}
	for again := true; ; again = false {
		resource, err := mapper.Served(ctx, gvk)
		if err != nil {
			return nil, kinds.IgnoreNoMatch(fmt.Errorf("look up kind %s: %w", gvk.Kind, err))
		}
		u, err := c.Dynamic.Resource(resource.GroupVersionResource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		switch {
		case again && kinds.IsUnserved(err):
			// The cached discovery data is out of date.
			c.Mapper.Forget(resource.GroupVersion().WithKind(gvk.Kind))
		case apierrors.IsNotFound(err):
			return nil, nil //nolint:nilnil // as above
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", Describe(gvk.Kind, name), err)
		default:
			return u, nil
		}
	}
}
