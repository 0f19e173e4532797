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

// addWatchers lets Watchers be deleted if events are disabled, because no workflow then works on them.
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

// isLeft reports whether a Watcher is being deleted and still has our finalizer.
func isLeft(w *v1beta2.Watcher) bool {
	return !w.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(w, shared.FinalizerWatcher)
}

// reconcileWatcher removes the finalizer from a Watcher that is being deleted. The finalizer is left over from a time
// with `--watcher-routing istio`. The Watcher owns its VirtualService, so Kubernetes deletes it afterwards, and no
// rights to Istio's kinds are needed.
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
