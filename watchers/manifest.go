package watchers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
	"github.com/kyma-project/lifecycle-manager/internal/model/origin"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// manifestRequest asks whether the workflow of a Manifest's Kyma must be kicked.
type manifestRequest struct {
	kick.Ref
	// Gone is true if the Manifest was removed. Kyma is then its former owner.
	Gone bool
	Kyma kick.Ref
	// Version is the resourceVersion of the removal.
	Version string
	// Listed is true if the Manifest existed before this process began to watch. No event shows whether a workflow is
	// working on it.
	Listed bool
}

// planLag is how long a Manifest change waits for its plan, in the Kyma's status, to reach the cache.
const planLag = 300 * time.Millisecond

// removalLag delays the request for a removed Manifest or Kyma that was being deleted, because the workflow that
// removed it usually ends by itself.
const removalLag = 2 * time.Second

type manifestQueue = workqueue.TypedRateLimitingInterface[manifestRequest]

func (w *watcher) addManifests(mgr manager.Manager) error {
	return builder.TypedControllerManagedBy[manifestRequest](mgr).Named("manifest").
		WatchesRawSource(installations.Modules(mgr.GetCache(), w.manifestEvents())).
		WatchesRawSource(installations.Agents(mgr.GetCache(), w.manifestEvents())).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Kyma{}, w.planEvents())).
		WithOptions(controller.TypedOptions[manifestRequest]{MaxConcurrentReconciles: concurrency, LogConstructor: logsOf(mgr, "manifest", aboutManifest)}).
		Complete(reconcile.TypedFunc[manifestRequest](w.kickManifest))
}

// manifestEvents handles the events of Manifests.
func (w *watcher) manifestEvents() handler.TypedFuncs[*v1beta2.Manifest, manifestRequest] {
	return handler.TypedFuncs[*v1beta2.Manifest, manifestRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1beta2.Manifest], q manifestQueue) {
			q.Add(manifestRequest{Ref: kick.RefOf(e.Object), Listed: e.IsInInitialList})
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1beta2.Manifest], q manifestQueue) {
			w.pacer.installed(e.ObjectOld, e.ObjectNew)
			if e.ObjectOld.UID != e.ObjectNew.UID {
				q.Add(gone(e.ObjectOld, e.ObjectNew.ResourceVersion))
			}
			if w.changed(e.ObjectOld, e.ObjectNew) || isDecidedAnew(e.ObjectOld, e.ObjectNew) ||
				!manifests.IsRefused(e.ObjectOld) && manifests.IsRefused(e.ObjectNew) && w.isPlanned(ctx, e.ObjectNew) {
				q.Add(manifestRequest{Ref: kick.RefOf(e.ObjectNew)})
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*v1beta2.Manifest], q manifestQueue) {
			var lag time.Duration
			if w.kymaOf(ctx, e.Object).DeletionTimestamp != nil {
				lag = removalLag
			}
			q.AddAfter(gone(e.Object, e.Object.ResourceVersion), lag)
		},
	}
}

// planEvents handles the events of Kymas. It requests a kick for each refused Manifest that the Kyma's plan now allows.
// A plan that changes a Manifest needs no request from here, because that change is an event of its own.
func (w *watcher) planEvents() handler.TypedFuncs[*v1beta2.Kyma, manifestRequest] {
	return handler.TypedFuncs[*v1beta2.Kyma, manifestRequest]{
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1beta2.Kyma], q manifestQueue) {
			for _, entry := range e.ObjectNew.Status.Planned {
				if before := planned.Of(e.ObjectOld, entry.Name); before != nil && *before == entry {
					continue
				}
				var m v1beta2.Manifest
				key := client.ObjectKey{Namespace: e.ObjectNew.Namespace, Name: entry.Name}
				if w.reader.Get(ctx, key, &m) == nil && manifests.IsRefused(&m) && planned.Allows(e.ObjectNew, &m) {
					q.Add(manifestRequest{Ref: kick.RefOf(&m)})
				}
			}
		},
	}
}

// isPlanned reports whether the plan in the cached Kyma allows the Manifest. If so, the plan was recorded while the
// Manifest was being refused.
func (w *watcher) isPlanned(ctx context.Context, m *v1beta2.Manifest) bool {
	return planned.Allows(w.kymaOf(ctx, m), m)
}

// kymaOf returns the cached Kyma of a Manifest, or an empty Kyma if there is none.
func (w *watcher) kymaOf(ctx context.Context, m *v1beta2.Manifest) *v1beta2.Kyma {
	owner, kyma := manifests.KymaRefOf(m), &v1beta2.Kyma{}
	if w.reader.Get(ctx, owner.Key(), kyma) != nil || kyma.UID != owner.UID {
		return &v1beta2.Kyma{}
	}
	return kyma
}

// isAsPlanned reports whether a Manifest that has just changed is as planned. Unlike isPlanned, it waits planLag for
// the plan to reach the cache.
func (w *watcher) isAsPlanned(ctx context.Context, m *v1beta2.Manifest) bool {
	return w.isPlanned(ctx, m) || objects.Sleep(ctx, planLag) == nil && w.isPlanned(ctx, m)
}

// isDecidedAnew reports whether a Manifest got another target or another owner.
func isDecidedAnew(before, after *v1beta2.Manifest) bool {
	return !equality.Semantic.DeepEqual(before.Status.Target, after.Status.Target) ||
		!equality.Semantic.DeepEqual(metav1.GetControllerOf(before), metav1.GetControllerOf(after))
}

// gone returns the request for a Manifest that was removed at this resourceVersion.
func gone(m *v1beta2.Manifest, resourceVersion string) manifestRequest {
	req := manifestRequest{Ref: kick.RefOf(m), Gone: true, Version: resourceVersion}
	switch owner := metav1.GetControllerOf(m); {
	case owner != nil && owner.Kind == shared.KindKyma:
		req.Kyma = kick.Ref{Namespace: m.Namespace, Name: owner.Name, UID: owner.UID}
	case owner == nil && m.KymaName() != "":
		// Its Kyma abandoned it. A new Kyma of the same name may have waited for its removal.
		req.Kyma = kick.Ref{Namespace: m.Namespace, Name: m.KymaName()}
	}
	return req
}

// kickKymasOf kicks the Kyma that a removed Manifest belonged to, and a new Kyma of the same name, which may have
// waited for the removal of the earlier installation.
func (w *watcher) kickKymasOf(ctx context.Context, kyma kick.Ref, k kick.Kick) error {
	if err := w.paced(ctx, func() error { return w.Kicks.OpenKyma(ctx, kyma, k) }); err != nil {
		return err
	}
	var now v1beta2.Kyma
	if err := w.reader.Get(ctx, kyma.Key(), &now); err != nil || now.UID == kyma.UID {
		return client.IgnoreNotFound(err)
	}
	return w.paced(ctx, func() error { return w.Kicks.OpenKyma(ctx, kick.RefOf(&now), k) })
}

// kickManifest kicks the workflow of a Manifest's Kyma if the Manifest is gone, or is not settled for its present
// inputs. The workflow knows its own writes, so a change that is as planned causes no kick.
func (w *watcher) kickManifest(ctx context.Context, req manifestRequest) (reconcile.Result, error) {
	k := kick.Kick{Kind: shared.KindOfInstallation(req.Name), Namespace: req.Namespace, Name: req.Name, Urgent: true}
	if req.Gone {
		k.Reason, k.Gone, k.ResourceVersion = "Manifest is gone", true, req.Version
		if req.Kyma.Name == "" {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, w.kickKymasOf(ctx, req.Kyma, k)
	}
	var m v1beta2.Manifest
	if err := w.reader.Get(ctx, req.Key(), &m); err != nil || m.UID != req.UID {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !w.Settings.Ours(m.Labels) {
		return reconcile.Result{}, nil
	}
	if uninstall.IsUnowned(&m) {
		return reconcile.Result{}, w.Unowned.SettleUnowned(ctx, req.Ref)
	}
	k.ResourceVersion = m.ResourceVersion
	switch {
	case !m.DeletionTimestamp.IsZero() && !req.Listed && !w.kymaOf(ctx, &m).DeletionTimestamp.IsZero():
		return reconcile.Result{}, nil // its Kyma's workflow deletes it
	case !m.DeletionTimestamp.IsZero():
		k.Reason, k.Deleting, k.IfIdle = "Manifest is being deleted", true, true
	case m.Status.InputsDigest != manifests.InputsDigest(&m) && !req.Listed && w.isAsPlanned(ctx, &m):
		return reconcile.Result{}, nil
	case m.Status.InputsDigest != manifests.InputsDigest(&m):
		k.Reason, k.Urgent, k.IfIdle = "Manifest changed", m.Annotations[origin.AnnotationBackground] == "", req.Listed
		k = k.SeenAt(kick.Earliest(origin.Since(&m), w.Now()))
	case manifests.IsRefused(&m):
		// The owner is not part of the inputs digest.
		k.Reason = "Manifest was refused"
	case m.IsUnmanaged():
		// Earlier releases kept the Manifest of an unmanaged module.
		k.Reason = "Manifest is unmanaged"
	case !m.Status.Settled:
		k.Reason, k.Urgent, k.IfIdle = "Manifest is not settled", false, true
	default:
		return reconcile.Result{}, nil
	}
	log.FromContext(ctx).V(1).Info("kick", logkey.Reason, k.Reason)
	ctx, span := w.seen(origin.InTrace(ctx, &m), shared.KindManifest, req.Ref, k)
	defer span.End()
	kyma := manifests.KymaRefOf(&m)
	return reconcile.Result{}, w.paced(ctx, func() error { return w.Kicks.Manifest(ctx, kyma, req.Ref, k) })
}
