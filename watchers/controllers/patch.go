package controllers

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// patch writes the changes that change makes to an object. On a conflict, it returns a result that requeues the
// request.
func (c *controllers) patch(ctx context.Context, object client.Object, change func() bool) (again reconcile.Result, err error) {
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok || !change() {
		return reconcile.Result{}, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = c.writer.Patch(ctx, object, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: time.Second}, nil
	case client.IgnoreNotFound(err) != nil:
		return reconcile.Result{}, fmt.Errorf("patch %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	return reconcile.Result{}, nil
}
