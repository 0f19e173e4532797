package manifests

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/hint"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// AddFinalizers writes our finalizers where they are missing, before anything is done that has to be undone.
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
	return nil
}

// OwnFinalizers are the finalizers that this package sets and releases. The manifest finalizer guards the
// module's resources, the label removal finalizer the marks on them of a module that became unmanaged. The
// resource and the purge finalizer are set by older releases only.
func OwnFinalizers() []string {
	return append(desired.ManifestFinalizers(), shared.FinalizerManifestResource, shared.FinalizerPurge)
}

func HasOwnFinalizer(m *v1beta2.Manifest) bool { return len(OthersFinalizers(m)) < len(m.Finalizers) }

// OthersFinalizers are the finalizers that are not ours to release.
func OthersFinalizers(m *v1beta2.Manifest) []string {
	others := []string{}
	for _, finalizer := range m.Finalizers {
		ours := false
		for _, own := range OwnFinalizers() {
			ours = ours || finalizer == own
		}
		if !ours {
			others = append(others, finalizer)
		}
	}
	return others
}

// RemoveFinalizers takes our finalizers off, as the last thing done, from this very Manifest as it was read.
func (a *Steps) RemoveFinalizers(ctx context.Context, m *v1beta2.Manifest) error {
	for try := 1; ; try++ {
		others := OthersFinalizers(m)
		if len(others) > 0 && !m.DeletionTimestamp.IsZero() {
			if _, err := a.WriteStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
				s.State = shared.StateDeleting
				s.LastOperation = v1beta2.NextLastOperation(s.LastOperation, shared.OtherFinalizersPresent(others), a.Now()).WithHint(hint.OtherFinalizers)
			}); err != nil && fault.Of(err).Reason != clusters.ReasonConflict {
				return err
			}
			// Nobody of ours looks at the Manifest again, so its Kyma hears of it before.
			if err := a.KickKyma(ctx, m); err != nil {
				return err
			}
		}
		before := m.DeepCopy()
		m.Finalizers = others
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := a.Options.ControlPlane.Patch(ctx, m, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) || try == StatusTries {
			return fmt.Errorf("release Manifest %s/%s: %w", before.Namespace, before.Name, err)
		}
		now, err := a.Read(ctx, kick.RefOf(before))
		if err != nil || now == nil {
			return err
		}
		if err := tookOverMeanwhile(before, now); err != nil {
			return err
		}
		*m = *now
	}
}
