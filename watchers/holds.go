package watchers

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

// holdRequest names a template or release meta that may carry the marks of a hold that is over.
type holdRequest struct {
	Kind string
	types.NamespacedName
}

type holdQueue = workqueue.TypedRateLimitingInterface[holdRequest]

// addHolds takes the marks of held removals off templates and release metas that changed since: an approval is for
// one change, and must not be found again when the same is done later.
func (w *watcher) addHolds(mgr manager.Manager) error {
	return builder.TypedControllerManagedBy[holdRequest](mgr).Named("held-removal").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleReleaseMeta{}, holdHandler[*v1beta2.ModuleReleaseMeta](w, shared.KindModuleReleaseMeta))).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleTemplate{}, holdHandler[*v1beta2.ModuleTemplate](w, shared.KindModuleTemplate))).
		Complete(reconcile.TypedFunc[holdRequest](w.endHold))
}

func holdHandler[T client.Object](w *watcher, kind string) handler.TypedFuncs[T, holdRequest] {
	add := func(object T, q holdQueue) {
		if w.Settings.Ours(object.GetLabels()) && resolve.MarksAreOutdated(object, w.Settings) {
			q.Add(holdRequest{kind, client.ObjectKeyFromObject(object)})
		}
	}
	return handler.TypedFuncs[T, holdRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q holdQueue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q holdQueue) { add(e.ObjectNew, q) },
	}
}

// endHold takes the marks off, from the object as it was read.
func (w *watcher) endHold(ctx context.Context, req holdRequest) (reconcile.Result, error) {
	var object client.Object = &v1beta2.ModuleTemplate{}
	if req.Kind == shared.KindModuleReleaseMeta {
		object = &v1beta2.ModuleReleaseMeta{}
	}
	if err := w.live.Get(ctx, req.NamespacedName, object); err != nil || !resolve.MarksAreOutdated(object, w.Settings) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	again, err := w.write(ctx, object, func() bool {
		annotations := object.GetAnnotations()
		for _, mark := range []string{desired.AnnotationHeldRemoval, desired.AnnotationHeldChange, desired.AnnotationApproveRemoval} {
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
