package resolve

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// EventOrphanReleased: the Manifest that an earlier Kyma of the same name left made room.
const EventOrphanReleased = "OrphanReleased"

// releaseOrphan lets a Manifest go that an earlier Kyma left when it was deleted with `--cascade=orphan`, and leaves all
// that it installed where it is. The Kyma's own Manifest of that name finds it there by its marks and takes it over, where
// it is for the same cluster.
func (a *Activities) releaseOrphan(ctx context.Context, kyma *v1beta2.Kyma, orphan *v1beta2.Manifest) error {
	released := orphan.DeepCopy()
	released.Finalizers = slices.DeleteFunc(released.Finalizers, func(finalizer string) bool {
		return slices.Contains(append(desired.ManifestFinalizers(), shared.FinalizerManifestResource, shared.FinalizerPurge), finalizer)
	})
	patch := client.MergeFromWithOptions(orphan, client.MergeFromWithOptimisticLock{})
	err := a.controlPlane.Patch(ctx, released, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("release %s, which an earlier Kyma left: %w", describe(orphan), err)
	}
	if err := deleteManifest(ctx, a.controlPlane, released); err != nil {
		return err
	}
	a.tell(kyma, EventOrphanReleased, fmt.Sprintf(
		"%s, which an earlier Kyma of this name left, was released: what it installed stays where it is, and is taken over where it is in this Kyma's cluster",
		describe(orphan)), "")
	return nil
}
