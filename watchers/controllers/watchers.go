package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// watcherRequest names a Watcher.
type watcherRequest struct{ types.NamespacedName }

type watcherQueue = workqueue.TypedRateLimitingInterface[watcherRequest]

// addWatchers lets Watchers be deleted where there are no events, and so no workflow that works on them.
func (c *controllers) addWatchers(mgr manager.Manager) error {
	if c.settings.Watching.Enabled() {
		return nil
	}
	add := func(w *v1beta2.Watcher, q watcherQueue) {
		if isLeft(w) {
			q.Add(watcherRequest{client.ObjectKeyFromObject(w)})
		}
	}
	return builder.TypedControllerManagedBy[watcherRequest](mgr).Named("watcher-finalizer").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Watcher{}, handler.TypedFuncs[*v1beta2.Watcher, watcherRequest]{
			CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1beta2.Watcher], q watcherQueue) { add(e.Object, q) },
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1beta2.Watcher], q watcherQueue) {
				add(e.ObjectNew, q)
			},
		})).
		Complete(reconcile.TypedFunc[watcherRequest](c.reconcileWatcher))
}

// isLeft tells whether a Watcher is being deleted, and waits for our finalizer.
func isLeft(w *v1beta2.Watcher) bool {
	return !w.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(w, shared.FinalizerWatcher)
}

// reconcileWatcher takes the finalizer, which is of a time with `--watcher-routing istio`, off a Watcher that is being
// deleted. Its VirtualService, which it owns, goes after it: that needs no right to Istio's kinds.
func (c *controllers) reconcileWatcher(ctx context.Context, req watcherRequest) (reconcile.Result, error) {
	w := &v1beta2.Watcher{}
	if err := c.reader.Get(ctx, req.NamespacedName, w); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !c.settings.Ours(w.Labels) || !isLeft(w) {
		return reconcile.Result{}, nil
	}
	w = w.DeepCopy()
	return c.patch(ctx, w, func() bool { return controllerutil.RemoveFinalizer(w, shared.FinalizerWatcher) })
}
