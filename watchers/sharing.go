package watchers

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// sharedRequest names an installation in the control plane's own cluster by its value of the label shared-module.
type sharedRequest struct{ Module string }

type sharedQueue = workqueue.TypedRateLimitingInterface[sharedRequest]

// addSharing tells the owners of a module in the control plane's own cluster what becomes of the one that installs it.
func (w *watcher) addSharing(mgr manager.Manager) error {
	add := func(m *v1beta2.Manifest, q sharedQueue) {
		if module := m.Labels[desired.LabelSharedModule]; module != "" && w.Settings.Ours(m.Labels) {
			q.Add(sharedRequest{module})
		}
	}
	events := handler.TypedFuncs[*v1beta2.Manifest, sharedRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1beta2.Manifest], q sharedQueue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1beta2.Manifest], q sharedQueue) {
			add(e.ObjectOld, q)
			add(e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1beta2.Manifest], q sharedQueue) { add(e.Object, q) },
	}
	return builder.TypedControllerManagedBy[sharedRequest](mgr).Named("shared-module").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Manifest{}, events)).
		Complete(reconcile.TypedFunc[sharedRequest](w.tellOwners))
}

// tellOwners kicks the owners that do not show what the holder shows, the Kymas of those that have another version, and
// the holder itself where it became so without knowing.
func (w *watcher) tellOwners(ctx context.Context, req sharedRequest) (reconcile.Result, error) {
	var list v1beta2.ManifestList
	if err := w.reader.List(ctx, &list, client.MatchingLabels{desired.LabelSharedModule: req.Module}); err != nil {
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
		if err := w.tellOwner(ctx, m, holder); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

func (w *watcher) tellOwner(ctx context.Context, m, holder *v1beta2.Manifest) error {
	var due bool
	switch {
	case m.UID == holder.UID:
		// It was shown as another's until now, or took over what another had.
		due = m.Status.Settled && m.Status.InstalledRef == "" && isShownAsShared(m) ||
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
	return w.paced(ctx, func() error { return w.Kicks.Manifest(ctx, kick.RefOf(m), k) })
}

// isShownAsShared tells whether a Manifest was last looked at as one that another installs: it has no counts, for it
// brought nothing.
func isShownAsShared(m *v1beta2.Manifest) bool {
	return m.Status.Counts == nil && m.Status.DefaultCR == nil
}
