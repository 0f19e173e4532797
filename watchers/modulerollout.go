package watchers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
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

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	staged "github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// rolloutRequest names a ModuleRollout with a workflow that may have something to do.
type rolloutRequest struct {
	kick.Ref
	// Gone is true if the rollout was removed.
	Gone bool
}

type rolloutQueue = workqueue.TypedRateLimitingInterface[rolloutRequest]

// addModuleRollouts kicks the workflow of a ModuleRollout when the rollout or the desired version of its channel
// changes. Changes of clusters that the rollout waits for kick it too, but spaced.
func (w *watcher) addModuleRollouts(mgr manager.Manager) error {
	err := builder.TypedControllerManagedBy[rolloutRequest](mgr).Named("module-rollout").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleRollout{}, w.rolloutEvents())).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleReleaseMeta{}, w.rolloutsOfReleaseMeta())).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleTemplate{}, w.rolloutsOfTemplate())).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Manifest{}, w.rolloutsOfManifest())).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Kyma{}, w.rolloutsOfKyma())).
		WithOptions(controller.TypedOptions[rolloutRequest]{LogConstructor: logsOf(mgr, "rollout", aboutRollout)}).
		Complete(reconcile.TypedFunc[rolloutRequest](w.kickRollout))
	if err != nil {
		return err
	}
	// A RunnableFunc needs leader election by default.
	return mgr.Add(manager.RunnableFunc(w.compareRollouts))
}

func aboutRollout(req rolloutRequest) []any {
	return []any{logkey.Namespace, req.Namespace, logkey.Name, req.Name, logkey.WorkflowID, kick.RolloutWorkflowID(req.Ref)}
}

// rolloutEvents handles the events of ModuleRollouts. It skips events of our own status writes. A new rollout may
// supersede other rollouts of its module.
func (w *watcher) rolloutEvents() handler.TypedFuncs[*v1beta2.ModuleRollout, rolloutRequest] {
	return handler.TypedFuncs[*v1beta2.ModuleRollout, rolloutRequest]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*v1beta2.ModuleRollout], q rolloutQueue) {
			q.Add(rolloutRequest{Ref: kick.RefOf(e.Object)})
			for _, r := range w.openRollouts(ctx, e.Object.Spec.ModuleName) {
				q.Add(rolloutRequest{Ref: kick.RefOf(r)})
			}
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1beta2.ModuleRollout], q rolloutQueue) {
			if e.ObjectOld.UID != e.ObjectNew.UID {
				q.Add(rolloutRequest{Ref: kick.RefOf(e.ObjectOld), Gone: true})
			}
			if !e.ObjectOld.HasEnded() && e.ObjectNew.HasEnded() {
				w.addPromotedTo(ctx, e.ObjectNew, q)
			}
			if e.ObjectOld.UID != e.ObjectNew.UID || e.ObjectOld.Generation != e.ObjectNew.Generation {
				q.Add(rolloutRequest{Ref: kick.RefOf(e.ObjectNew)})
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*v1beta2.ModuleRollout], q rolloutQueue) {
			q.Add(rolloutRequest{Ref: kick.RefOf(e.Object), Gone: true})
			w.addPromotedTo(ctx, e.Object, q)
		},
	}
}

// addPromotedTo requests a kick of each rollout that promotes its version to the channel of a rollout that has ended or
// is gone, because they may wait for that.
func (w *watcher) addPromotedTo(ctx context.Context, ended *v1beta2.ModuleRollout, q rolloutQueue) {
	for _, r := range w.openRollouts(ctx, ended.Spec.ModuleName) {
		if r.IsBeingPromoted() && r.NextChannel() == ended.Spec.Channel {
			q.Add(rolloutRequest{Ref: kick.RefOf(r)})
		}
	}
}

// rolloutsOfReleaseMeta kicks the rollouts of a module when its release meta changes.
func (w *watcher) rolloutsOfReleaseMeta() handler.TypedFuncs[*v1beta2.ModuleReleaseMeta, rolloutRequest] {
	return newsOf(isEdited, func(ctx context.Context, _, meta *v1beta2.ModuleReleaseMeta, q rolloutQueue) {
		for _, r := range w.openRollouts(ctx, desired.ReleaseMetaModule(meta)) {
			q.Add(rolloutRequest{Ref: kick.RefOf(r)})
		}
	})
}

// rolloutsOfTemplate kicks a module's rollouts when a template's annotations revertible-to or priority change. A new
// template that already has one of them may replace an earlier template.
func (w *watcher) rolloutsOfTemplate() handler.TypedFuncs[*v1beta2.ModuleTemplate, rolloutRequest] {
	compare := func(ctx context.Context, before map[string]string, template *v1beta2.ModuleTemplate, q rolloutQueue) {
		for _, name := range []string{shared.AnnotationRevertibleTo, shared.AnnotationPriority} {
			if before[name] == template.Annotations[name] {
				continue
			}
			for _, r := range w.openRollouts(ctx, desired.ModuleNameOf(template)) {
				q.Add(rolloutRequest{Ref: kick.RefOf(r)})
			}
			return
		}
	}
	return handler.TypedFuncs[*v1beta2.ModuleTemplate, rolloutRequest]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*v1beta2.ModuleTemplate], q rolloutQueue) {
			if !e.IsInInitialList {
				compare(ctx, nil, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1beta2.ModuleTemplate], q rolloutQueue) {
			compare(ctx, e.ObjectOld.Annotations, e.ObjectNew, q)
		},
	}
}

// rolloutsOfManifest kicks the rollouts of a module when one of its Manifests settles or fails.
func (w *watcher) rolloutsOfManifest() handler.TypedFuncs[*v1beta2.Manifest, rolloutRequest] {
	settled := settledCounts{}
	return handler.TypedFuncs[*v1beta2.Manifest, rolloutRequest]{
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1beta2.Manifest], q rolloutQueue) {
			before, after := e.ObjectOld.Status, e.ObjectNew.Status
			isHeld := e.ObjectOld.Annotations[staged.AnnotationHeldBack] != e.ObjectNew.Annotations[staged.AnnotationHeldBack]
			same := before.State == after.State && before.InstalledVersion == after.InstalledVersion || after.State == shared.StateProcessing
			if same && !isHeld {
				return
			}
			channel := e.ObjectNew.Labels[shared.LabelChannel]
			for _, r := range w.openRollouts(ctx, desired.EntryOf(e.ObjectNew)) {
				if r.Spec.Channel == channel {
					wait := spacing(r, after.State == shared.StateError, w.Now())
					if staged.SettledEnough(r, settled.add(r)) {
						wait = staged.MinSpacing
					}
					q.AddAfter(rolloutRequest{Ref: kick.RefOf(r)}, wait)
				}
			}
		},
	}
}

// rolloutsOfKyma kicks the rollouts of a module when a Kyma begins or stops waiting for an upgrade, or may have dropped
// the module. A rollout that the Kyma holds back may then continue.
func (w *watcher) rolloutsOfKyma() handler.TypedFuncs[*v1beta2.Kyma, rolloutRequest] {
	return handler.TypedFuncs[*v1beta2.Kyma, rolloutRequest]{
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1beta2.Kyma], q rolloutQueue) {
			concerned := map[string]bool{}
			anew := e.ObjectOld.IsMarkedUnreachable() != e.ObjectNew.IsMarkedUnreachable() || w.changed(e.ObjectOld, e.ObjectNew) ||
				remoteGeneration(e.ObjectOld) != remoteGeneration(e.ObjectNew)
			before := lists.By(e.ObjectOld.Status.Modules, func(module v1beta2.ModuleStatus) string { return module.Name })
			for _, module := range e.ObjectNew.Status.Modules {
				was := before[module.Name]
				if anew || was.Maintenance != module.Maintenance || !was.DeferredUntil.Equal(module.DeferredUntil) || was.State != module.State && module.State == shared.StateError {
					concerned[module.Name] = true
				}
			}
			for module := range concerned {
				for _, r := range w.openRollouts(ctx, module) {
					q.AddAfter(rolloutRequest{Ref: kick.RefOf(r)}, spacing(r, false, w.Now()))
				}
			}
		},
	}
}

// remoteGeneration returns the generation of the remote Kyma that was last accepted.
func remoteGeneration(kyma *v1beta2.Kyma) int64 {
	if kyma.Status.Remote == nil {
		return 0
	}
	return kyma.Status.Remote.ObservedGeneration
}

// promotionSpacing is the time between two kicks of a rollout whose version is observed for days before its promotion.
const promotionSpacing = 5 * time.Minute

// spacing returns how long a rollout's step waits for further clusters. After a failure the step does not wait for
// further failures.
func spacing(r *v1beta2.ModuleRollout, failed bool, now time.Time) time.Duration {
	switch {
	case r.IsBeingPromoted():
		return promotionSpacing
	case failed:
		return staged.MinSpacing
	default:
		return staged.Spacing(r, now)
	}
}

// maxSettledCounts bounds the number of rollouts in settledCounts.
const maxSettledCounts = 1000

// settledCounts counts, for each rollout, the Manifests that settled since the rollout's last step. It needs no lock,
// because only the event handler of Manifests uses it, and that handler runs sequentially.
type settledCounts map[types.UID]settledCount

type settledCount struct {
	// step is the resourceVersion that the rollout's last step wrote.
	step  string
	count int32
}

// add counts a Manifest for a rollout, and returns the new count.
func (c settledCounts) add(r *v1beta2.ModuleRollout) int32 {
	if len(c) >= maxSettledCounts {
		clear(c)
	}
	of := c[r.UID]
	if of.step != r.ResourceVersion {
		of = settledCount{step: r.ResourceVersion}
	}
	of.count++
	c[r.UID] = of
	return of.count
}

// openRollouts returns the rollouts of a module that may have something to do, including those being promoted.
func (w *watcher) openRollouts(ctx context.Context, module string) []*v1beta2.ModuleRollout {
	all, err := desired.NewCached(w.reader).Rollouts(ctx, module)
	if err != nil {
		// This costs only time, because each rollout has a deadline.
		log.FromContext(ctx).Error(err, "list the rollouts of a module", logkey.Name, module)
		return nil
	}
	return lists.Filter(all, func(r *v1beta2.ModuleRollout) bool { return r.IsAtWork() && w.Settings.Ours(r.Labels) })
}

// kickRollout kicks the workflow of a rollout that may have something to do.
func (w *watcher) kickRollout(ctx context.Context, req rolloutRequest) (reconcile.Result, error) {
	k := kick.Kick{Reason: "ModuleRollout or its clusters changed", Kind: shared.KindModuleRollout, Namespace: req.Namespace, Name: req.Name}
	if req.Gone {
		k.Reason, k.Urgent, k.Gone = "ModuleRollout is gone", true, true
		return reconcile.Result{}, w.Kicks.SignalOpen(ctx, kick.RolloutWorkflowID(req.Ref), k)
	}
	var r v1beta2.ModuleRollout
	if err := w.reader.Get(ctx, req.Key(), &r); err != nil || r.UID != req.UID {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !w.Settings.Ours(r.Labels) || !r.IsAtWork() {
		return reconcile.Result{}, nil
	}
	k.ResourceVersion = r.ResourceVersion
	log.FromContext(ctx).V(1).Info("kick", logkey.Reason, k.Reason)
	ctx, span := w.seen(ctx, shared.KindModuleRollout, req.Ref, k)
	defer span.End()
	return reconcile.Result{}, w.paced(ctx, func() error { return w.Kicks.Rollout(ctx, req.Ref, k) })
}

// overdue is how long after its deadline a rollout is kicked that did not act by itself.
const overdue = time.Minute

// compareRollouts kicks overdue rollouts once in each resync interval: a kick may have been lost, or Temporal's
// database and with it the workflow. It does not wake a rollout that waits for a deadline in the future.
func (w *watcher) compareRollouts(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.ResyncInterval):
		}
		if err := w.kickOverdueRollouts(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "find overdue rollouts, will try again")
		}
	}
}

func (w *watcher) kickOverdueRollouts(ctx context.Context) error {
	var all v1beta2.ModuleRolloutList
	if err := w.reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list ModuleRollouts: %w", err)
	}
	for i := range all.Items {
		r := &all.Items[i]
		until := r.Status.WaitsUntil
		if r.Status.Phase == "" || r.Generation != r.Status.ObservedGeneration || until != nil && w.Now().Sub(until.Time) > overdue {
			if _, err := w.kickRollout(ctx, rolloutRequest{Ref: kick.RefOf(r)}); err != nil {
				return err
			}
		}
	}
	return nil
}
