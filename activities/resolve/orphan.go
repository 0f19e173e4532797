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

// EventOrphanReleased: the Manifest that an earlier Kyma of the same name left made room.
const EventOrphanReleased = "OrphanReleased"

// EventOrphanAdopted: the Manifest that an earlier Kyma of the same name left is the present one's.
const EventOrphanAdopted = "OrphanAdopted"

// adoptOrphans makes the Kyma the owner of Manifests that an earlier one left when it was deleted with
// `--cascade=orphan`, where it lists their modules and they are for its cluster: what they know of what is installed
// holds. It returns the versions that they have then.
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
			return nil, fmt.Errorf("adopt %s, which an earlier Kyma left: %w", planning.Describe(plan.Orphan), err)
		}
		adopted = append(adopted, fleet.SeenOf(after))
		if a.Events != nil {
			hint.Record(a.Events, kyma, corev1.EventTypeNormal, EventOrphanAdopted, fmt.Sprintf(
				"%s, which an earlier Kyma of this name left in the same cluster, is this Kyma's now, with all that it installed", planning.Describe(plan.Orphan)), "")
		}
	}
	return adopted, nil
}

// releaseOrphan releases a Manifest that an earlier Kyma left when it was deleted with `--cascade=orphan`, and leaves all
// that it installed where it is: in another cluster, or in one that is not on record. Where it is the same one after all,
// the Kyma's own Manifest of that name finds it there by its marks and takes it over.
func (a *Activities) releaseOrphan(ctx context.Context, kyma *v1beta2.Kyma, orphan *v1beta2.Manifest) error {
	if err := a.release(ctx, orphan); err != nil {
		return err
	}
	a.record(kyma, EventOrphanReleased, fmt.Sprintf(
		"%s, which an earlier Kyma of this name left, was released: what it installed stays where it is, and is taken over where it is in this Kyma's cluster",
		planning.Describe(orphan)), "")
	return nil
}

// release deletes a Manifest without a removal: nothing in any cluster is read or deleted for it.
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
