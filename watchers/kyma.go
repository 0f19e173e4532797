package watchers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/origin"
	staged "github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// kymaRequest asks whether a Kyma's workflow must be kicked. The queue merges equal requests.
type kymaRequest struct {
	kick.Ref
	// Own is true if the Kyma itself changed. The kick is then urgent.
	Own bool
	// Gone is true if the Kyma was removed.
	Gone bool
	// Cause is the catalog object that changed.
	Cause cause
}

// cause identifies the object whose change led to a request.
type cause struct {
	Kind, Namespace, Name, ResourceVersion string
	// Paced is true if a ModuleRollout decides when the change reaches which Kyma.
	Paced bool
}

func causeOf(kind string, obj client.Object) cause {
	return cause{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), ResourceVersion: obj.GetResourceVersion()}
}

type kymaQueue = workqueue.TypedRateLimitingInterface[kymaRequest]

// concurrency is how many requests each watcher handles at once. A request costs one digest and one kick.
const concurrency = 8

func (w *watcher) addKymas(mgr manager.Manager) error {
	return builder.TypedControllerManagedBy[kymaRequest](mgr).Named("kyma").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Kyma{}, w.kymaEvents())).
		WithOptions(controller.TypedOptions[kymaRequest]{MaxConcurrentReconciles: concurrency, LogConstructor: logsOf(mgr, "kyma", aboutKyma)}).
		Complete(reconcile.TypedFunc[kymaRequest](w.kickKyma))
}

// kymaEvents handles the events of Kymas.
func (w *watcher) kymaEvents() handler.TypedFuncs[*v1beta2.Kyma, kymaRequest] {
	return handler.TypedFuncs[*v1beta2.Kyma, kymaRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1beta2.Kyma], q kymaQueue) {
			// A listed Kyma may have been reconciled long ago, and there is no event for a change since then: the
			// digest decides. Urgent requests go first, because they must not wait for the digests of the whole
			// fleet.
			req := kymaRequest{Ref: kick.RefOf(e.Object), Own: !e.IsInInitialList}
			if first, ok := q.(priorityqueue.PriorityQueue[kymaRequest]); ok && w.kymaKick(e.Object, req).Urgent {
				first.AddWithOpts(priorityqueue.AddOpts{Priority: new(0)}, req)
				return
			}
			q.Add(req)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1beta2.Kyma], q kymaQueue) {
			w.pacer.progressed(e.ObjectOld, e.ObjectNew)
			if e.ObjectOld.UID != e.ObjectNew.UID {
				w.pacer.forget(e.ObjectOld.UID)
				q.Add(kymaRequest{Ref: kick.RefOf(e.ObjectOld), Gone: true})
			}
			if w.changed(e.ObjectOld, e.ObjectNew) || isOrphaned(e.ObjectOld, e.ObjectNew) {
				q.Add(kymaRequest{Ref: kick.RefOf(e.ObjectNew), Own: true})
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1beta2.Kyma], q kymaQueue) {
			w.pacer.forget(e.Object.UID)
			q.AddAfter(kymaRequest{Ref: kick.RefOf(e.Object), Gone: true}, removalLag)
		},
	}
}

// changed reports whether more changed than the status and the metadata that this instance maintains. The generation
// also changes when a deletion begins.
func (w *watcher) changed(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(w.othersLabels(before), w.othersLabels(after)) ||
		!maps.Equal(othersAnnotations(before), othersAnnotations(after))
}

// isOrphaned reports whether the garbage collector has just released the remains of a Kyma, so that its deletion can
// continue.
func isOrphaned(before, after *v1beta2.Kyma) bool {
	return desired.IsOrphaning(before) && !desired.IsOrphaning(after)
}

// othersAnnotations returns the annotations of an object without the bookkeeping annotations that this instance sets.
func othersAnnotations(obj client.Object) map[string]string {
	annotations := maps.Clone(obj.GetAnnotations())
	for _, own := range []string{shared.AnnotationChannels, origin.AnnotationBackground, origin.AnnotationSince, origin.AnnotationTrace, staged.AnnotationUpgrade} {
		delete(annotations, own)
	}
	return annotations
}

// othersLabels returns the labels of an object without the managed-by label if that label names this instance.
func (w *watcher) othersLabels(obj client.Object) map[string]string {
	labels := maps.Clone(obj.GetLabels())
	if w.Settings.Ours(labels) {
		delete(labels, shared.LabelManagedBy)
	}
	return labels
}

// kickKyma kicks the workflow of a Kyma if its inputs have changed since its last reconcile. Changes that do not come
// from the Kyma itself go through pacing.
func (w *watcher) kickKyma(ctx context.Context, req kymaRequest) (reconcile.Result, error) {
	if req.Gone {
		k := kick.Kick{Reason: "Kyma is gone", Kind: shared.KindKyma, Namespace: req.Namespace, Name: req.Name, Urgent: true}
		return reconcile.Result{}, w.paced(ctx, func() error { return w.Kicks.OpenKyma(ctx, req.Ref, k) })
	}
	kyma, _, err := w.behind(ctx, req)
	if err != nil || kyma == nil {
		return reconcile.Result{}, err
	}
	if !w.kymaKick(kyma, req).Urgent {
		return reconcile.Result{}, w.pacer.pass(ctx, req)
	}
	return reconcile.Result{}, w.sendKyma(ctx, kyma, req)
}

// behind returns the Kyma and the digest of its inputs if the Kyma belongs to this instance and must be reconciled,
// else nil.
func (w *watcher) behind(ctx context.Context, req kymaRequest) (*v1beta2.Kyma, string, error) {
	kyma := &v1beta2.Kyma{}
	if err := w.reader.Get(ctx, req.Key(), kyma); err != nil || kyma.UID != req.UID {
		return nil, "", client.IgnoreNotFound(err)
	}
	if desired.IsSyncedCopy(kyma) || !w.Settings.Ours(kyma.Labels) {
		return nil, "", nil
	}
	if !kyma.DeletionTimestamp.IsZero() {
		return kyma, "", nil
	}
	digest, err := w.Inputs.Digest(ctx, kyma)
	if err != nil {
		return nil, "", fmt.Errorf("compute the inputs digest of Kyma %s: %w", req.Ref, err)
	}
	if digest == kyma.Status.InputsDigest && !mayHelp(kyma, req.Cause) {
		return nil, "", nil
	}
	return kyma, digest, nil
}

func (w *watcher) sendKyma(ctx context.Context, kyma *v1beta2.Kyma, req kymaRequest) error {
	k := w.kymaKick(kyma, req)
	if !k.Deleting {
		k = k.SeenAt(w.Now())
	}
	log.FromContext(ctx).V(1).Info("kick", logkey.Reason, k.Reason)
	ctx, span := w.seen(ctx, shared.KindKyma, req.Ref, k)
	defer span.End()
	return w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, req.Ref, k) })
}

// mayHelp reports whether a catalog change may bring a newer version of a module that is being removed or in Warning.
// The version of a module that is being removed is no longer an input of its Kyma.
func mayHelp(kyma *v1beta2.Kyma, c cause) bool {
	return (c.Kind == shared.KindModuleTemplate || c.Kind == shared.KindModuleReleaseMeta) &&
		slices.ContainsFunc(kyma.Status.Modules, func(m v1beta2.ModuleStatus) bool {
			return m.State == shared.StateDeleting || m.State == shared.StateWarning
		})
}

// kymaKick returns the kick for a request. Changes of the Kyma itself are urgent.
func (w *watcher) kymaKick(kyma *v1beta2.Kyma, req kymaRequest) kick.Kick {
	k := kick.Kick{Kind: shared.KindKyma, Namespace: kyma.Namespace, Name: kyma.Name, ResourceVersion: kyma.ResourceVersion}
	switch {
	case !kyma.DeletionTimestamp.IsZero():
		k.Reason, k.Urgent, k.Deleting = "Kyma is being deleted", true, true
	case req.Own || kyma.Generation != kyma.Status.ObservedGeneration:
		k.Reason, k.Urgent = "Kyma changed", true
	case req.Cause.Kind == "":
		k.Reason = "inputs changed while no leader was watching"
	default:
		k.Reason = req.Cause.Kind + " changed"
		k.Kind, k.Namespace, k.Name, k.ResourceVersion = req.Cause.Kind, req.Cause.Namespace, req.Cause.Name, req.Cause.ResourceVersion
	}
	return k
}
