package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// patch writes what change does to an object as it was read. It is to be done again where the object changed since.
func (c *controllers) patch(ctx context.Context, object client.Object, change func() bool) (again bool, err error) {
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok || !change() {
		return false, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = c.writer.Patch(ctx, object, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	switch {
	case apierrors.IsConflict(err):
		return true, nil
	case client.IgnoreNotFound(err) != nil:
		return false, fmt.Errorf("patch %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	return false, nil
}
