package manifests

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/requeue"
)

// AddFinalizers adds our missing finalizers. It is called before anything that a removal has to undo.
func (a *Steps) AddFinalizers(ctx context.Context, m *v1beta2.Manifest) error {
	before := m.DeepCopy()
	changed := false
	for _, finalizer := range desired.ManifestFinalizers() {
		changed = controllerutil.AddFinalizer(m, finalizer) || changed
	}
	if !changed {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.Options.ControlPlane.Patch(ctx, m, patch, client.FieldOwner(shared.FieldManagerLifecycleManager)); err != nil {
		return fmt.Errorf("write the finalizers of Manifest %s/%s: %w", m.Namespace, m.Name, err)
	}
	requeue.Wrote(ctx, requeue.ManifestAddFinalizer)
	return nil
}

// OwnFinalizers returns the finalizers that this package adds and removes. The manifest finalizer guards the module's
// resources. The label removal finalizer guards our labels on them after the module became unmanaged. Only older
// releases added the resource and the purge finalizer.
func OwnFinalizers() []string {
	return append(desired.ManifestFinalizers(), shared.FinalizerManifestResource, shared.FinalizerPurge)
}

// HasOwnFinalizer reports whether a Manifest has one of our finalizers.
func HasOwnFinalizer(m *v1beta2.Manifest) bool { return len(OtherFinalizers(m)) < len(m.Finalizers) }

// OtherFinalizers returns the Manifest's finalizers that are not ours.
func OtherFinalizers(m *v1beta2.Manifest) []string {
	return slices.DeleteFunc(slices.Clone(m.Finalizers), func(finalizer string) bool { return slices.Contains(OwnFinalizers(), finalizer) })
}

// RemoveFinalizers removes our finalizers as the last step. It is refused if the Manifest has changed since it was
// read.
func (a *Steps) RemoveFinalizers(ctx context.Context, m *v1beta2.Manifest) error {
	return RetryOnConflict(func() error {
		others := OtherFinalizers(m)
		if len(others) > 0 && !m.DeletionTimestamp.IsZero() {
			if _, err := a.WriteStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
				s.State = shared.StateDeleting
				s.LastOperation = v1beta2.NextLastOperation(s.LastOperation, fault.Message(shared.OtherFinalizersPresent(others)), a.Now()).WithHint(hint.OtherFinalizers)
			}); err != nil && !IsConflict(err) {
				return err
			}
			Changed(ctx, m)
		}
		before := m.DeepCopy()
		m.Finalizers = others
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := a.Options.ControlPlane.Patch(ctx, m, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		err = fmt.Errorf("release Manifest %s/%s: %w", before.Namespace, before.Name, err)
		if !IsConflict(err) {
			return err
		}
		now, readErr := a.Read(ctx, kick.RefOf(before))
		if readErr != nil || now == nil {
			return readErr
		}
		if err := tookOverMeanwhile(before, now); err != nil {
			return err
		}
		*m = *now
		return err
	})
}
