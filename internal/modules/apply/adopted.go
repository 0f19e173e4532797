package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/adoption"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

// takeFields moves the ownership of fields of an object to us, in two cases: before we first apply an object that
// upstream installed, and for a Secret that an earlier release of ours applied with stringData. The module's
// inventory says which of its objects upstream installed. The objects of upstream's agent are in no inventory, so
// takeFields reads each of them once.
func takeFields(ctx context.Context, job *Installation, p bundle.Placed, body []byte) error {
	live := job.Repair.Adopted(p)
	if seen := job.Repair.Before.Seen[p.Entry.ID].Meta; live == nil && adoption.OwnsStringData(p.Object.GVK.GroupKind(), seen) {
		live = seen
	}
	stale := live == nil
	if stale && (!desired.IsAgent(job.Manifest) || job.Repair.Recorded[p.Entry.ID].Hash != "") {
		return nil
	}
	api := job.Cluster.Metadata.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace)
	return manifests.RetryOnConflict(func() error {
		if stale {
			now, err := api.Get(ctx, p.Name.Name, metav1.GetOptions{})
			if err != nil {
				return client.IgnoreNotFound(fmt.Errorf("read %s: %w", p, err))
			}
			live = now
		}
		stale = true
		patch, err := adoption.FieldsPatch(live, body)
		if err != nil || patch == nil {
			return err
		}
		if desired.IsAgent(job.Manifest) && p.Object.GVK.Kind == "Deployment" {
			if err := removeLeftovers(ctx, job); err != nil {
				return err
			}
		}
		_, err = api.Patch(ctx, p.Name.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
		return client.IgnoreNotFound(err)
	})
}

// removeLeftovers deletes objects that only upstream's agent needs. It runs before we take over upstream's
// Deployment, because that Deployment shows that the leftovers still have to be deleted. Running pods are not
// affected. Objects that we may not delete stay.
func removeLeftovers(ctx context.Context, job *Installation) error {
	for _, o := range agent.Leftovers() {
		resource, err := job.Cluster.Mapper.Resource(ctx, o.GVK)
		if err != nil {
			return fmt.Errorf("look up kind %s: %w", o.GVK.Kind, err)
		}
		namespace := ""
		if o.Namespaced {
			namespace = job.RemoteNamespace
		}
		api := job.Cluster.Metadata.Resource(resource.GroupVersionResource).Namespace(namespace)
		live, err := api.Get(ctx, o.Name, metav1.GetOptions{})
		if err == nil && live.Labels[shared.LabelManagedBy] == shared.ManagedByKyma {
			err = api.Delete(ctx, o.Name, metav1.DeleteOptions{
				PropagationPolicy: new(metav1.DeletePropagationBackground), Preconditions: &metav1.Preconditions{UID: &live.UID},
			})
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("delete %s %s of upstream's agent: %w", o.GVK.Kind, o.Name, err)
		}
	}
	return nil
}
