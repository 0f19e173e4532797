package watchers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// watcherRequest asks whether the workflow of a Watcher must be kicked.
type watcherRequest struct {
	kick.Ref
	// Gone is true if the Watcher was removed, at Version.
	Gone    bool
	Version string
	// All requests every Watcher instead, because something they share changed. If a Gateway changed, it is the Cause.
	All   bool
	Cause cause
}

type watcherQueue = workqueue.TypedRateLimitingInterface[watcherRequest]

// addRouting kicks a Watcher when it changes and when something changes that its routing depends on (istio.go). It also
// compares all Watchers regularly, to find differences that caused no event.
func (w *watcher) addRouting(mgr manager.Manager) error {
	if !w.Settings.Watching.Enabled() {
		return nil
	}
	b := builder.TypedControllerManagedBy[watcherRequest](mgr).Named("watcher").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Watcher{}, watcherEvents())).
		WithOptions(controller.TypedOptions[watcherRequest]{LogConstructor: logsOf(mgr, "watcher", aboutWatcher)})
	if w.Settings.Watching.Routing == desired.RoutingIstio {
		if err := routing.CheckIstio(w.Settings, mgr.GetRESTMapper()); err != nil {
			return err
		}
		b = b.WatchesRawSource(source.TypedKind(mgr.GetCache(), routing.Gateway(), gatewayEvents())).
			WatchesRawSource(source.TypedKind(mgr.GetCache(), routing.VirtualService(), virtualServiceEvents()))
	}
	if err := b.Complete(reconcile.TypedFunc[watcherRequest](w.kickWatcher)); err != nil {
		return err
	}
	// A RunnableFunc needs leader election by default.
	return mgr.Add(manager.RunnableFunc(w.compareWatchers))
}

func aboutWatcher(req watcherRequest) []any {
	if req.All {
		return []any{logkey.Reason, req.Cause.Kind}
	}
	return []any{logkey.Namespace, req.Namespace, logkey.Name, req.Name, logkey.WorkflowID, kick.WatcherWorkflowID(req.Ref)}
}

// watcherEvents handles the events of Watchers. A change of one Watcher may give another Watcher a path, or take it
// away, so all are compared. Events of our own status writes are skipped, because they change nothing in that
// comparison.
func watcherEvents() handler.TypedFuncs[*v1beta2.Watcher, watcherRequest] {
	return handler.TypedFuncs[*v1beta2.Watcher, watcherRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1beta2.Watcher], q watcherQueue) {
			q.Add(watcherRequest{Ref: kick.RefOf(e.Object)})
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1beta2.Watcher], q watcherQueue) {
			before, after := e.ObjectOld, e.ObjectNew
			if before.UID != after.UID {
				q.Add(watcherRequest{Ref: kick.RefOf(before), Gone: true, Version: after.ResourceVersion})
			}
			if before.UID == after.UID && before.Generation == after.Generation && maps.Equal(before.Labels, after.Labels) &&
				before.DeletionTimestamp.IsZero() == after.DeletionTimestamp.IsZero() && len(before.Finalizers) <= len(after.Finalizers) {
				return
			}
			q.Add(watcherRequest{Ref: kick.RefOf(after)})
			q.Add(watcherRequest{All: true, Cause: cause{Kind: shared.KindWatcher}})
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1beta2.Watcher], q watcherQueue) {
			q.Add(watcherRequest{Ref: kick.RefOf(e.Object), Gone: true, Version: e.Object.ResourceVersion})
			q.Add(watcherRequest{All: true, Cause: cause{Kind: shared.KindWatcher}})
		},
	}
}

// kickWatcher kicks the workflow of a Watcher that differs from its desired state.
func (w *watcher) kickWatcher(ctx context.Context, req watcherRequest) (reconcile.Result, error) {
	switch {
	case req.All:
		return reconcile.Result{}, w.kickWatchers(ctx, req.Cause)
	case req.Gone:
		return reconcile.Result{}, w.Kicks.SignalOpen(ctx, kick.WatcherWorkflowID(req.Ref), kick.Kick{
			Reason: "Watcher is gone", Kind: shared.KindWatcher, Namespace: req.Namespace, Name: req.Name, ResourceVersion: req.Version, Urgent: true, Gone: true,
		})
	}
	var found v1beta2.Watcher
	if err := w.reader.Get(ctx, req.Key(), &found); err != nil || req.UID != "" && found.UID != req.UID {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{}, w.kickOutdated(ctx, &found, causeOf(shared.KindWatcher, &found))
}

// kickWatchers kicks all Watchers that differ from their desired state. There are few Watchers.
func (w *watcher) kickWatchers(ctx context.Context, why cause) error {
	var all v1beta2.WatcherList
	if err := w.reader.List(ctx, &all); err != nil {
		return fmt.Errorf("list Watchers: %w", err)
	}
	var failed []error
	for i := range all.Items {
		failed = append(failed, w.kickOutdated(ctx, &all.Items[i], why))
	}
	return errors.Join(failed...)
}

// kickOutdated kicks a Watcher of this instance if the cached state of the Watcher and its dependencies requires it.
func (w *watcher) kickOutdated(ctx context.Context, found *v1beta2.Watcher, why cause) error {
	if !w.Settings.Ours(found.Labels) {
		return nil
	}
	s, err := routing.GatherAll(ctx, w.reader, w.Settings, found)
	if err != nil {
		return err
	}
	reason := routing.Outdated(w.Settings, s)
	if reason == "" {
		return nil
	}
	k := kick.Kick{
		Reason: reason, Kind: why.Kind, Namespace: why.Namespace, Name: why.Name, ResourceVersion: why.ResourceVersion,
		Urgent: why.Kind != "", Deleting: !found.DeletionTimestamp.IsZero(),
	}
	ref := kick.RefOf(found)
	log.FromContext(ctx).V(1).Info("kick", logkey.Reason, k.Reason, logkey.WorkflowID, kick.WatcherWorkflowID(ref))
	ctx, span := w.seen(ctx, shared.KindWatcher, ref, k)
	defer span.End()
	return w.paced(ctx, func() error { return w.Kicks.Watcher(ctx, ref, k) })
}

const (
	// compareWatchersEvery is the default of Options.ResyncInterval.
	compareWatchersEvery = 5 * time.Minute
	// retryWatchersAfter is the wait before a failed comparison is retried.
	retryWatchersAfter = 10 * time.Second
)

// compareWatchers compares all Watchers with their desired state at start and once in each resync interval. Flags may
// have changed while no leader was watching, and events or kicks may have been lost.
func (w *watcher) compareWatchers(ctx context.Context) error {
	for {
		wait := w.ResyncInterval
		if err := w.kickWatchers(ctx, cause{}); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "compare the Watchers with their desired state, will try again")
			wait = retryWatchersAfter
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}
