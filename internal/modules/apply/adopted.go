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

// takeFields moves the ownership of the fields of an object that upstream installed, before we apply it for the first
// time, and of a Secret that an earlier release of ours applied with stringData. Which objects of a module upstream installed
// is in the module's inventory. Upstream's agent is in none: the cluster is asked for each of its objects, once.
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

// removeLeftovers deletes what only upstream's agent needs. It does so before upstream's Deployment is taken over, which shows
// that it is still to be done. Pods that run go on without. What we may not delete stays.
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
