package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// approvalRequest names a template or release meta that may carry the marks of a removal guard that is over.
type approvalRequest struct {
	Kind string
	types.NamespacedName
}

type approvalQueue = workqueue.TypedRateLimitingInterface[approvalRequest]

// addApprovals takes the marks of the removal guard off templates and release metas that changed since: an approval is for
// one change, and must not be found again when the same change is made later.
func (c *controllers) addApprovals(mgr manager.Manager) error {
	return builder.TypedControllerManagedBy[approvalRequest](mgr).Named("held-removal").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleReleaseMeta{}, approvalHandler[*v1beta2.ModuleReleaseMeta](c, shared.KindModuleReleaseMeta))).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleTemplate{}, approvalHandler[*v1beta2.ModuleTemplate](c, shared.KindModuleTemplate))).
		Complete(reconcile.TypedFunc[approvalRequest](c.clearMarks))
}

func approvalHandler[T client.Object](c *controllers, kind string) handler.TypedFuncs[T, approvalRequest] {
	add := func(object T, q approvalQueue) {
		if c.settings.Ours(object.GetLabels()) && resolve.MarksAreOutdated(object, c.settings) {
			q.Add(approvalRequest{kind, client.ObjectKeyFromObject(object)})
		}
	}
	return handler.TypedFuncs[T, approvalRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q approvalQueue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q approvalQueue) { add(e.ObjectNew, q) },
	}
}

// clearMarks removes the marks from the object as it was read.
func (c *controllers) clearMarks(ctx context.Context, req approvalRequest) (reconcile.Result, error) {
	var object client.Object = &v1beta2.ModuleTemplate{}
	if req.Kind == shared.KindModuleReleaseMeta {
		object = &v1beta2.ModuleReleaseMeta{}
	}
	if err := c.live.Get(ctx, req.NamespacedName, object); err != nil || !resolve.MarksAreOutdated(object, c.settings) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	again, err := c.patch(ctx, object, func() bool {
		annotations := object.GetAnnotations()
		for _, mark := range []string{desired.AnnotationGuardedRemoval, desired.AnnotationGuardedChange, desired.AnnotationApproveRemoval} {
			delete(annotations, mark)
		}
		object.SetAnnotations(annotations)
		return true
	})
	if again {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{}, err
}
