package watchers

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// sharedRequest names an installation in the control plane's own cluster by its value of the label shared-module.
type sharedRequest struct {
	Module string
	// Released is the module's name if the installed version may have changed, or the last owner may have gone. Kymas
	// that were refused another version are then kicked. Else it is empty.
	Released string
}

type sharedQueue = workqueue.TypedRateLimitingInterface[sharedRequest]

// addSharing kicks the owners of a module in the control plane's own cluster when the Manifest that installs it
// changes.
func (w *watcher) addSharing(mgr manager.Manager) error {
	add := func(m *v1beta2.Manifest, released bool, q sharedQueue) {
		module := m.Labels[desired.LabelSharedModule]
		if module == "" || !w.Settings.Ours(m.Labels) {
			return
		}
		q.Add(sharedRequest{Module: module})
		if released {
			q.Add(sharedRequest{Module: module, Released: m.Labels[shared.LabelModuleName]})
		}
	}
	events := handler.TypedFuncs[*v1beta2.Manifest, sharedRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1beta2.Manifest], q sharedQueue) {
			add(e.Object, false, q)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1beta2.Manifest], q sharedQueue) {
			add(e.ObjectOld, false, q)
			add(e.ObjectNew, e.ObjectOld.Spec.Version != e.ObjectNew.Spec.Version ||
				e.ObjectOld.DeletionTimestamp.IsZero() != e.ObjectNew.DeletionTimestamp.IsZero(), q)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1beta2.Manifest], q sharedQueue) {
			add(e.Object, true, q)
		},
	}
	return builder.TypedControllerManagedBy[sharedRequest](mgr).Named("shared-module").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Manifest{}, events)).
		Complete(reconcile.TypedFunc[sharedRequest](w.kickOwners))
}

// kickOwners kicks the owners whose state differs from the holder's, the Kymas whose Manifest has another version, and
// the holder itself if it has just become the holder.
func (w *watcher) kickOwners(ctx context.Context, req sharedRequest) (reconcile.Result, error) {
	if req.Released != "" {
		return reconcile.Result{}, w.kickRefused(ctx, req.Released)
	}
	var list v1beta2.ManifestList
	if err := w.reader.List(ctx, &list, client.MatchingFields{fleet.IndexSharedModule: req.Module}); err != nil {
		return reconcile.Result{}, fmt.Errorf("list the owners of a shared module: %w", err)
	}
	holder := desired.Holder(list.Items)
	if holder == nil {
		return reconcile.Result{}, nil
	}
	for i := range list.Items {
		m := &list.Items[i]
		if !desired.IsShared(m) {
			continue
		}
		if err := w.kickOwner(ctx, m, holder); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

func (w *watcher) kickOwner(ctx context.Context, m, holder *v1beta2.Manifest) error {
	var due bool
	switch {
	case m.UID == holder.UID:
		// It showed another Manifest's state before and so has no counts, or it took over objects of another Manifest.
		due = m.Status.Settled && m.Status.InstalledRef == "" && m.Status.Counts == nil && m.Status.DefaultCR == nil ||
			len(m.Status.TakenOverFrom) > 0 && m.Status.InputsDigest == ""
	case m.Spec.Version != holder.Spec.Version:
		if owner := metav1.GetControllerOf(m); owner != nil && owner.Kind == shared.KindKyma {
			k := kick.Kick{Reason: "the shared module has another version", Kind: shared.KindManifest, Namespace: holder.Namespace, Name: holder.Name}
			ref := kick.Ref{Namespace: m.Namespace, Name: owner.Name, UID: owner.UID}
			if err := w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, ref, k) }); err != nil {
				return err
			}
		}
		due = m.Status.State != shared.StateWarning
	default:
		due = m.Status.State != holder.Status.State
	}
	if !due {
		return nil
	}
	k := kick.Kick{Reason: "the shared module's installation changed", Kind: shared.KindManifest, Namespace: m.Namespace, Name: m.Name, Urgent: true}
	if uninstall.IsUnowned(m) {
		return nil
	}
	return w.paced(ctx, func() error { return w.Kicks.Manifest(ctx, manifests.KymaRefOf(m), kick.RefOf(m), k) })
}

// kickRefused kicks the Kymas that have no Manifest for a module and a Warning that gives the reason.
func (w *watcher) kickRefused(ctx context.Context, module string) error {
	var kymas v1beta2.KymaList
	if err := w.reader.List(ctx, &kymas, client.MatchingFields{desired.IndexKymaReferences: module}); err != nil {
		return fmt.Errorf("list the Kymas with module %s: %w", module, err)
	}
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		refused := slices.ContainsFunc(kyma.Status.Modules, func(m v1beta2.ModuleStatus) bool {
			return m.Name == module && m.Manifest == nil && m.State == shared.StateWarning
		})
		if !refused || !w.Settings.Ours(kyma.Labels) {
			continue
		}
		k := kick.Kick{Reason: "the version of a shared module changed", Kind: shared.KindManifest, Name: module}
		if err := w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, kick.RefOf(kyma), k) }); err != nil {
			return err
		}
	}
	return nil
}
