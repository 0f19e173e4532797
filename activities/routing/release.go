package routing

import (
	"context"
	"fmt"
	"strings"

	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// ReasonRemoving: the VirtualService of a Watcher still exists because of its finalizers.
const ReasonRemoving = "VirtualServiceRemoving"

// release removes the routing of a Watcher under deletion, then our finalizer.
func (a *Activities) release(ctx context.Context, w *v1beta2.Watcher) (Out, error) {
	if !controllerutil.ContainsFinalizer(w, shared.FinalizerWatcher) {
		return Out{Outcome: OutcomeReleased, State: shared.StateDeleting}, nil
	}
	p := Plan{State: shared.StateDeleting, Message: "the VirtualService is being removed"}
	if err := a.report(ctx, w, p); err != nil {
		return Out{}, err
	}
	if _, err := a.remove(ctx, w); err != nil {
		return Out{}, err
	}
	return Out{Outcome: OutcomeReleased, State: shared.StateDeleting, Message: p.Message}, a.unguard(ctx, w)
}

// withoutIstio removes the VirtualService that the Watcher may still have from the time when its routing was istio, and
// reports. Our finalizer on the Watcher shows whether there was one.
func (a *Activities) withoutIstio(ctx context.Context, w *v1beta2.Watcher) (Out, error) {
	p := Decide(a.options.Settings, Situation{Watcher: w})
	if controllerutil.ContainsFinalizer(w, shared.FinalizerWatcher) {
		unseen, err := a.remove(ctx, w)
		if err != nil {
			return Out{}, err
		}
		if unseen {
			p.Message += "; a VirtualService with its name may be left, but this instance has no permission to read it"
		}
		if err := a.unguard(ctx, w); err != nil {
			return Out{}, err
		}
	}
	return Out{Outcome: OutcomeDone, State: p.State, Message: p.Message}, a.report(ctx, w, p)
}

// remove deletes the VirtualService of a Watcher and returns nil after it is gone, or if the control plane has no such
// kind. Without Istio routing, we may have no permission to read it (unseen). Then the VirtualService goes when the
// Watcher, its owner, is deleted.
func (a *Activities) remove(ctx context.Context, w *v1beta2.Watcher) (unseen bool, err error) {
	present, err := a.find(ctx, w)
	if apierrors.IsForbidden(err) && a.options.Settings.Watching.Routing != desired.RoutingIstio {
		return true, nil
	}
	if err != nil || present == nil {
		return false, err
	}
	if present.DeletionTimestamp.IsZero() {
		err := a.options.ControlPlane.Delete(ctx, present, client.Preconditions{UID: new(present.UID)})
		if err != nil && !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("delete VirtualService %s/%s: %w", w.Namespace, w.Name, err)
		}
		if present, err = a.find(ctx, w); err != nil || present == nil {
			return false, err
		}
	}
	return false, fault.New(fault.Pending, ReasonRemoving, "VirtualService %s/%s is being deleted and waits for its finalizers %s",
		w.Namespace, w.Name, strings.Join(present.Finalizers, ", "))
}

// find reads the metadata of a Watcher's VirtualService live. It returns nil if the Watcher has none of its own.
func (a *Activities) find(ctx context.Context, w *v1beta2.Watcher) (*metav1.PartialObjectMetadata, error) {
	present := &metav1.PartialObjectMetadata{}
	present.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind(kindVirtualService))
	err := a.options.ControlPlane.Get(ctx, client.ObjectKeyFromObject(w), present)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // being gone is an ordinary case
	}
	if err != nil {
		return nil, fmt.Errorf("read VirtualService %s/%s: %w", w.Namespace, w.Name, err)
	}
	if !isOurs(present, w) {
		return nil, nil //nolint:nilnil // a VirtualService of another owner counts as none
	}
	return present, nil
}

// unguard removes our finalizer from this version of the Watcher.
func (a *Activities) unguard(ctx context.Context, w *v1beta2.Watcher) error {
	before := w.DeepCopy()
	controllerutil.RemoveFinalizer(w, shared.FinalizerWatcher)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := a.options.ControlPlane.Patch(ctx, w, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("release Watcher %s/%s: %w", w.Namespace, w.Name, err)
	}
	return nil
}
