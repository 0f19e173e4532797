package objects

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// Delete deletes the object with this uid, and its dependents in the background. It reports whether the API server
// accepted the deletion. A missing object, or one with another uid, is not an error.
func Delete(
	ctx context.Context, c *clusters.Cluster, resource schema.GroupVersionResource, name types.NamespacedName, uid types.UID,
) (bool, error) {
	err := c.Metadata.Resource(resource).Namespace(name.Namespace).Delete(ctx, name.Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationBackground), Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}
