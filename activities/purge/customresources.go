package purge

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
)

// customResources deletes the default custom resource, and all custom resources of kinds that are removed with the
// module. It waits briefly for their operator and then removes the finalizers of the remaining custom resources.
func (p *purger) customResources(ctx context.Context, r *removal.Remover, entries []v1beta2.InventoryEntry) error {
	if err := p.activities.steps.Unchanged(ctx, p.manifest); err != nil {
		return err
	}
	done := map[schema.GroupKind]bool{}
	if err := r.EachOwnDefinition(ctx, entries, func(name string, _ kinds.Resource) error {
		kind, err := r.DefinedKind(ctx, name)
		if err != nil || kind.Kind == "" {
			return err
		}
		done[kind] = true
		return p.kind(ctx, r, kind, nil)
	}); err != nil {
		return err
	}
	return p.defaultCR(ctx, r, done)
}

// defaultCR forces the default custom resource if its CRD stays.
func (p *purger) defaultCR(ctx context.Context, r *removal.Remover, done map[schema.GroupKind]bool) error {
	recorded := p.manifest.Status.DefaultCR
	if recorded == nil || p.manifest.Spec.EffectivePolicy() != v1beta2.CustomResourcePolicyCreateAndDelete {
		return nil
	}
	gvk, name := inventory.RecordedCR(recorded)
	if done[gvk.GroupKind()] || kinds.IsProtected(gvk, name) {
		return nil
	}
	if id, err := v1beta2.InventoryID(gvk.GroupKind(), name); err == nil && r.Used.ByID[id] != nil {
		p.stay(objects.Describe(gvk.Kind, name) + " is used by Kyma " + manifests.KymaRefOf(r.Used.ByID[id]).String())
		return nil
	}
	return p.kind(ctx, r, gvk.GroupKind(), func(cr *metav1.PartialObjectMetadata) bool { return inventory.IsRecorded(recorded, cr) })
}

// kind forces the custom resources of one kind. A non-nil chosen selects some of them.
func (p *purger) kind(ctx context.Context, r *removal.Remover, kind schema.GroupKind, chosen func(*metav1.PartialObjectMetadata) bool) error {
	resource, err := r.Mapper.Resource(ctx, schema.GroupVersionKind{Group: kind.Group, Kind: kind.Kind})
	if err != nil {
		return kinds.IgnoreNoMatch(fmt.Errorf("look up kind %s: %w", kind, err))
	}
	mine := func(cr *metav1.PartialObjectMetadata) bool {
		mark := inventory.MarkOn(cr)
		// A custom resource that another Manifest brought is removed with that Manifest. Helm's keep annotation keeps a
		// custom resource and its CRD.
		return !inventory.IsKept(cr) && (mark == "" || mark == r.Owner.Mark) && (chosen == nil || chosen(cr))
	}
	remaining, fresh := false, false
	if err := p.each(ctx, r, kind, resource, mine, func(ctx context.Context, cr *metav1.PartialObjectMetadata) error {
		p.mu.Lock()
		remaining, fresh = true, fresh || cr.DeletionTimestamp.IsZero()
		p.mu.Unlock()
		return p.deleteCR(ctx, r, kind, resource, cr)
	}); err != nil || !remaining {
		return err
	}
	isGone := func() (bool, error) {
		page, err := r.Cluster.Metadata.Resource(resource.GroupVersionResource).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return notServed(err), objects.IgnoreUnserved(err)
		}
		return len(page.Items) == 0, nil
	}
	// Custom resources that were deleted earlier have had their time, and there may be many of them.
	if fresh {
		if err := poll(ctx, isGone); err != nil {
			return err
		}
	}
	return p.each(ctx, r, kind, resource, mine, func(ctx context.Context, cr *metav1.PartialObjectMetadata) error {
		if cr.DeletionTimestamp.IsZero() {
			return nil
		}
		return p.forceObject(ctx, r, cr, kind.Kind, resource)
	})
}

// deleteCR deletes a custom resource. Deleting a user's custom resource is forced, so it is recorded.
func (p *purger) deleteCR(ctx context.Context, r *removal.Remover, kind schema.GroupKind, resource kinds.Resource, cr *metav1.PartialObjectMetadata) error {
	if !cr.DeletionTimestamp.IsZero() {
		return nil
	}
	object := Object{Kind: kind.Kind, Namespace: cr.Namespace, Name: cr.Name, UID: cr.UID, In: p.place()}
	users := !inventory.IsRecorded(p.manifest.Status.DefaultCR, cr) && !r.Owner.Owns(cr)
	if users {
		if err := p.activities.Options.Purges.RecordIntent(ctx, p.kyma, object); err != nil {
			return err
		}
	}
	name := types.NamespacedName{Namespace: cr.Namespace, Name: cr.Name}
	accepted, err := objects.Delete(ctx, r.Cluster, resource.GroupVersionResource, name, cr.UID)
	if err != nil {
		return fmt.Errorf("delete %s: %w", object, err)
	}
	if accepted {
		p.mu.Lock()
		p.deleted++
		p.mu.Unlock()
	}
	if users && accepted {
		p.forced(object)
	}
	return nil
}

// each calls do for the selected custom resources of a kind, several at a time.
func (p *purger) each(ctx context.Context, r *removal.Remover, kind schema.GroupKind, resource kinds.Resource,
	selected func(*metav1.PartialObjectMetadata) bool, do func(context.Context, *metav1.PartialObjectMetadata) error,
) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(p.activities.applier.Options.Parallel)
	err := objects.Pages(metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		page, err := r.Cluster.Metadata.Resource(resource.GroupVersionResource).List(inner, options)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			if cr := &page.Items[i]; selected(cr) {
				group.Go(func() error { return do(inner, cr) })
			}
		}
		return page.Continue, nil
	})
	failed := group.Wait()
	if failed == nil && err != nil && !notServed(err) {
		failed = fmt.Errorf("list %s: %w", kind, err)
	}
	return failed
}
