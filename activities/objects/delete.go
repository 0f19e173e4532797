package objects

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
)

// Delete deletes an object that has this uid, and what it owns in the background. It tells whether the deletion was
// accepted: that the object, or the one of this uid, is not there any more is no error.
func Delete(ctx context.Context, c *clusters.Cluster, resource schema.GroupVersionResource, name types.NamespacedName, uid types.UID) (bool, error) {
	err := c.Metadata.Resource(resource).Namespace(name.Namespace).Delete(ctx, name.Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationBackground), Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}
