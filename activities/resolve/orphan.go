package resolve

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// EventOrphanReleased: a Manifest left by an earlier Kyma with the same name was released to make room.
const EventOrphanReleased = "OrphanReleased"

// EventOrphanAdopted: a Manifest left by an earlier Kyma with the same name now belongs to this Kyma.
const EventOrphanAdopted = "OrphanAdopted"

// adoptOrphans makes the Kyma the owner of Manifests that an earlier Kyma left when it was deleted with
// `--cascade=orphan`. It adopts the Manifests of modules that the Kyma lists, if they are for the Kyma's cluster. Their
// inventories then remain valid. adoptOrphans returns the versions of the Manifests after the adoption.
func (a *Activities) adoptOrphans(ctx context.Context, kyma *v1beta2.Kyma, view View) ([]desired.Seen, error) {
	if !view.Wanted.Complete {
		return nil, nil
	}
	var adopted []desired.Seen
	for _, plan := range slices.Concat(view.Modules, view.Mandatory) {
		if plan.Orphan == nil || !plan.Adopts || plan.Action != planning.ActionCreate {
			continue
		}
		after := plan.Orphan.DeepCopy()
		after.OwnerReferences = append(after.OwnerReferences, planning.OwnerReference(kyma))
		patch := client.MergeFromWithOptions(plan.Orphan, client.MergeFromWithOptimisticLock{})
		err := a.ControlPlane.Patch(ctx, after, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("adopt %s, left by an earlier Kyma: %w", planning.Describe(plan.Orphan), err)
		}
		adopted = append(adopted, fleet.SeenOf(after))
		if a.Events != nil {
			hint.Record(a.Events, kyma, corev1.EventTypeNormal, EventOrphanAdopted, fmt.Sprintf(
				"adopted %s, which an earlier Kyma with this name left in the same cluster, with everything that it installed", planning.Describe(plan.Orphan)), "")
		}
	}
	return adopted, nil
}

// releaseOrphan releases a Manifest that an earlier Kyma left when it was deleted with `--cascade=orphan`. Everything
// that the Manifest installed stays, because it is in another cluster, or its cluster is not on record. If it is the same
// cluster after all, the Kyma's own Manifest with that name finds the objects by their marks and takes them over.
func (a *Activities) releaseOrphan(ctx context.Context, kyma *v1beta2.Kyma, orphan *v1beta2.Manifest) error {
	if err := a.release(ctx, orphan); err != nil {
		return err
	}
	a.record(kyma, EventOrphanReleased, fmt.Sprintf(
		"released %s, which an earlier Kyma with this name left; its objects stay, and this Kyma takes over those in its own cluster",
		planning.Describe(orphan)), "")
	return nil
}

// release deletes a Manifest without a removal. It reads and deletes nothing in any cluster.
func (a *Activities) release(ctx context.Context, manifest *v1beta2.Manifest) error {
	released := manifest.DeepCopy()
	released.Finalizers = manifests.OtherFinalizers(manifest)
	patch := client.MergeFromWithOptions(manifest, client.MergeFromWithOptimisticLock{})
	err := a.ControlPlane.Patch(ctx, released, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("release %s: %w", planning.Describe(manifest), err))
	}
	return deleteManifest(ctx, a.ControlPlane, released)
}
