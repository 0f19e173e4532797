package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// approvalRequest names a template or release meta that may carry outdated marks of the removal guard.
type approvalRequest struct {
	Kind string
	types.NamespacedName
}

type approvalQueue = workqueue.TypedRateLimitingInterface[approvalRequest]

// addApprovals removes the removal guard's marks from templates and release metas that have changed since. An approval
// is for one change, and must not apply again if somebody makes the same change later. addApprovals also records on
// these objects what was approved in the RemovalBudget; that wakes the Kymas concerned, like any catalog change.
func (c *controllers) addApprovals(mgr manager.Manager) error {
	return builder.TypedControllerManagedBy[approvalRequest](mgr).Named("held-removal").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleReleaseMeta{}, approvalHandler[*v1beta2.ModuleReleaseMeta](c, shared.KindModuleReleaseMeta))).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleTemplate{}, approvalHandler[*v1beta2.ModuleTemplate](c, shared.KindModuleTemplate))).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.RemovalBudget{}, handler.TypedFuncs[*v1beta2.RemovalBudget, approvalRequest]{
			CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*v1beta2.RemovalBudget], q approvalQueue) {
				c.addMarked(ctx, q)
			},
			UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1beta2.RemovalBudget], q approvalQueue) {
				if e.ObjectOld.Generation != e.ObjectNew.Generation {
					c.addMarked(ctx, q)
				}
			},
		})).
		Complete(reconcile.TypedFunc[approvalRequest](c.keepMarks))
}

func approvalHandler[T client.Object](c *controllers, kind string) handler.TypedFuncs[T, approvalRequest] {
	add := func(object T, q approvalQueue) {
		if c.settings.Ours(object.GetLabels()) && isMarked(object) {
			q.Add(approvalRequest{kind, client.ObjectKeyFromObject(object)})
		}
	}
	return handler.TypedFuncs[T, approvalRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q approvalQueue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q approvalQueue) { add(e.ObjectNew, q) },
	}
}

// isMarked reports whether an object has a mark of the removal guard.
func isMarked(object client.Object) bool {
	annotations := object.GetAnnotations()
	return annotations[desired.AnnotationGuardedRemoval] != "" || annotations[desired.AnnotationGuardedChange] != ""
}

// addMarked requests all objects with marks. If listing fails, the next change of the RemovalBudget or the next start
// repeats it.
func (c *controllers) addMarked(ctx context.Context, q approvalQueue) {
	var metas v1beta2.ModuleReleaseMetaList
	var templates v1beta2.ModuleTemplateList
	for _, list := range []client.ObjectList{&metas, &templates} {
		if err := c.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "list the objects that an approval in the RemovalBudget may concern")
			return
		}
	}
	for i := range metas.Items {
		if meta := &metas.Items[i]; c.settings.Ours(meta.Labels) && isMarked(meta) {
			q.Add(approvalRequest{shared.KindModuleReleaseMeta, client.ObjectKeyFromObject(meta)})
		}
	}
	for i := range templates.Items {
		if template := &templates.Items[i]; c.settings.Ours(template.Labels) && isMarked(template) {
			q.Add(approvalRequest{shared.KindModuleTemplate, client.ObjectKeyFromObject(template)})
		}
	}
}

// keepMarks removes the marks from an object that has changed since, or records whether the removals are approved.
func (c *controllers) keepMarks(ctx context.Context, req approvalRequest) (reconcile.Result, error) {
	var object client.Object = &v1beta2.ModuleTemplate{}
	if req.Kind == shared.KindModuleReleaseMeta {
		object = &v1beta2.ModuleReleaseMeta{}
	}
	if err := c.live.Get(ctx, req.NamespacedName, object); err != nil || !isMarked(object) || !c.settings.Ours(object.GetLabels()) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	outdated, approved := resolve.MarksAreOutdated(object, c.settings), ""
	if change := object.GetAnnotations()[desired.AnnotationGuardedRemoval]; !outdated && c.budget != nil {
		ok, err := c.budget.Approves(ctx, change, true)
		if err != nil {
			return reconcile.Result{}, err
		}
		if ok {
			approved = change
		}
	}
	return c.patch(ctx, object, func() bool {
		annotations := object.GetAnnotations()
		switch {
		case outdated:
			for _, mark := range []string{desired.AnnotationGuardedRemoval, desired.AnnotationGuardedChange, desired.AnnotationApprovedRemoval} {
				delete(annotations, mark)
			}
		case annotations[desired.AnnotationApprovedRemoval] == approved:
			return false
		case approved == "":
			delete(annotations, desired.AnnotationApprovedRemoval)
		default:
			annotations[desired.AnnotationApprovedRemoval] = approved
		}
		object.SetAnnotations(annotations)
		return true
	})
}
