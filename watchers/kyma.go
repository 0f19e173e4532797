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

// kymaRequest asks to work out whether a Kyma's workflow has to be kicked. Requests that are equal are
// merged by the queue.
type kymaRequest struct {
	kick.Ref
	// Own is true when the Kyma itself changed: such a kick is urgent.
	Own bool
	// Gone is true when the Kyma was removed.
	Gone bool
	// Cause is the object of the catalog that changed.
	Cause cause
}

// cause identifies the object whose change led to a request.
type cause struct {
	Kind, Namespace, Name, ResourceVersion string
	// Paced is true when a rollout in stages decides whom the change reaches when.
	Paced bool
}

func causeOf(kind string, obj client.Object) cause {
	return cause{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), ResourceVersion: obj.GetResourceVersion()}
}

type kymaQueue = workqueue.TypedRateLimitingInterface[kymaRequest]

// concurrency is how many requests of a watcher are worked on at once: each is one digest and one kick.
const concurrency = 8

func (w *watcher) addKymas(mgr manager.Manager) error {
	return builder.TypedControllerManagedBy[kymaRequest](mgr).Named("kyma").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Kyma{}, w.kymaEvents())).
		WithOptions(controller.TypedOptions[kymaRequest]{MaxConcurrentReconciles: concurrency, LogConstructor: logsOf(mgr, "kyma", aboutKyma)}).
		Complete(reconcile.TypedFunc[kymaRequest](w.kickKyma))
}

// kymaEvents are the events of Kymas themselves.
func (w *watcher) kymaEvents() handler.TypedFuncs[*v1beta2.Kyma, kymaRequest] {
	return handler.TypedFuncs[*v1beta2.Kyma, kymaRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1beta2.Kyma], q kymaQueue) {
			// What is listed at start may have been seen long ago, and nothing says what changed meanwhile:
			// the digest decides. What somebody changed then does not wait for the digests of the whole fleet.
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

// changed tells whether more than the status changed, or what this instance itself keeps in the metadata. The
// generation also moves when a deletion begins.
func (w *watcher) changed(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(w.othersLabels(before), w.othersLabels(after)) ||
		!maps.Equal(othersAnnotations(before), othersAnnotations(after))
}

// isOrphaned tells whether the garbage collector has just released what remains of a Kyma: its deletion continues then.
func isOrphaned(before, after *v1beta2.Kyma) bool {
	return desired.IsOrphaning(before) && !desired.IsOrphaning(after)
}

// othersAnnotations are the annotations of an object without those that this instance sets and that change nothing.
func othersAnnotations(obj client.Object) map[string]string {
	annotations := maps.Clone(obj.GetAnnotations())
	for _, own := range []string{shared.AnnotationChannels, origin.AnnotationBackground, origin.AnnotationSince, origin.AnnotationTrace, staged.AnnotationUpgrade} {
		delete(annotations, own)
	}
	return annotations
}

// othersLabels are the labels of an object without the mark that this instance puts on what is its own anyway.
func (w *watcher) othersLabels(obj client.Object) map[string]string {
	labels := maps.Clone(obj.GetLabels())
	if w.Settings.Ours(labels) {
		delete(labels, shared.LabelManagedBy)
	}
	return labels
}

// kickKyma kicks the workflow of a Kyma whose inputs are not those of its last reconcile. Where nothing of the Kyma's own
// differs, pacing does it.
func (w *watcher) kickKyma(ctx context.Context, req kymaRequest) (reconcile.Result, error) {
	if req.Gone {
		k := kick.Kick{Reason: "Kyma is gone", Kind: "Kyma", Namespace: req.Namespace, Name: req.Name, Urgent: true}
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

// behind returns a Kyma of this instance that has to be reconciled, with the digest of its inputs; nil where it has not.
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
		return nil, "", fmt.Errorf("compute the inputs of Kyma %s: %w", req.Ref, err)
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
	ctx, span := w.seen(ctx, "Kyma", req.Ref, k)
	defer span.End()
	return w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, req.Ref, k) })
}

// mayHelp tells whether a change of the catalog may bring a newer version of a module that is being removed, which is no
// input of its Kyma any more.
func mayHelp(kyma *v1beta2.Kyma, c cause) bool {
	return (c.Kind == shared.KindModuleTemplate || c.Kind == shared.KindModuleReleaseMeta) &&
		slices.ContainsFunc(kyma.Status.Modules, func(m v1beta2.ModuleStatus) bool {
			return m.State == shared.StateDeleting || m.State == shared.StateWarning
		})
}

// kymaKick says what changed. A change of the Kyma itself is urgent.
func (w *watcher) kymaKick(kyma *v1beta2.Kyma, req kymaRequest) kick.Kick {
	k := kick.Kick{Kind: "Kyma", Namespace: kyma.Namespace, Name: kyma.Name, ResourceVersion: kyma.ResourceVersion}
	switch {
	case !kyma.DeletionTimestamp.IsZero():
		k.Reason, k.Urgent, k.Deleting = "Kyma is being deleted", true, true
	case req.Own || kyma.Generation != kyma.Status.ObservedGeneration:
		k.Reason, k.Urgent = "Kyma changed", true
	case req.Cause.Kind == "":
		k.Reason = "inputs changed while nobody watched"
	default:
		k.Reason = req.Cause.Kind + " changed"
		k.Kind, k.Namespace, k.Name, k.ResourceVersion = req.Cause.Kind, req.Cause.Namespace, req.Cause.Name, req.Cause.ResourceVersion
	}
	return k
}
