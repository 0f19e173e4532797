package removal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// HandOverToOthers returns the entries that nobody else needs, and the names of the module's objects that stay
// because others use them. Objects that others have in their inventory too belong to them from then on.
func (a *Removals) HandOverToOthers(ctx context.Context, r *Remover, m *v1beta2.Manifest, entries []v1beta2.InventoryEntry) (own []v1beta2.InventoryEntry, stay []string, err error) {
	used, err := a.usage(ctx, r, m)
	if err != nil || len(used.Manifests) == 0 {
		return entries, nil, err
	}
	var inUse []v1beta2.InventoryEntry
	users := map[string]*v1beta2.Manifest{}
	for _, e := range entries {
		by, err := used.user(ctx, r, e)
		if err != nil {
			return nil, nil, clusters.Classify(err)
		}
		if by == nil {
			own = append(own, e)
			continue
		}
		inUse = append(inUse, e)
		users[e.ID] = by
	}
	if len(inUse) == 0 {
		return own, nil, nil
	}
	if err := a.steps.Unchanged(ctx, m); err != nil {
		return nil, nil, err
	}
	successors := a.successorsOf(ctx, used, inUse)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(a.applier.Options.Parallel)
	for _, e := range inUse {
		group.Go(func() error {
			by := users[e.ID]
			described, err := r.handOver(groupCtx, e, by, successors[inventory.MarkOf(by)], used.ByID[e.ID] == by)
			if err != nil {
				return clusters.Classify(err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if by == used.ByID[e.ID] || !r.KeepUserData {
				r.Gone[e.ID] = true
			}
			if described != "" {
				stay = append(stay, described+" is used by Kyma "+manifests.KymaRefOf(by).String())
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for _, next := range successors {
		if err := next.record(ctx, a); err != nil {
			return nil, nil, err
		}
	}
	slices.Sort(stay)
	return own, stay, nil
}

// handOver hands an object over to another Manifest. If that Manifest has the object in its inventory too, the object
// gets its mark. If possible, the object is applied as the successor does, so that the successor finds it as it last
// applied it. handOver returns the object's name if the object was ours.
func (r *Remover) handOver(ctx context.Context, e v1beta2.InventoryEntry, to *v1beta2.Manifest, next *successor, hasIt bool) (string, error) {
	gvk, name, err := e.Object()
	if err != nil || r.IsProtected(gvk, name) {
		return "", err
	}
	described := objects.Describe(gvk.Kind, name)
	ours := false
	err = manifests.RetryOnConflict(func() error {
		ours = false
		live, resource, err := r.Live(ctx, gvk, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", described, err)
		}
		if live == nil || !r.Owner.Owns(live) {
			return nil
		}
		if !hasIt || next.apply(ctx, e, live) {
			ours = true
			return nil
		}
		patch, err := markPatch(live, inventory.OwnerOf(to))
		if err != nil {
			return err
		}
		_, err = r.Cluster.Metadata.Resource(resource.GroupVersionResource).Namespace(name.Namespace).
			Patch(ctx, name.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: shared.FieldManagerModuleResources})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("hand %s over to Manifest %s: %w", described, inventory.MarkOf(to), err)
		}
		ours = err == nil
		return nil
	})
	if err != nil || !ours {
		return "", err
	}
	return described, nil
}

// markPatch returns a patch that gives this resource version of an object the mark of another Manifest.
func markPatch(live *metav1.PartialObjectMetadata, to inventory.Owner) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{kinds.PathMetadata: map[string]any{
		"uid": live.UID, "resourceVersion": live.ResourceVersion,
		"annotations": map[string]any{shared.AnnotationOwnedBy: to.Mark, shared.AnnotationOwnedByUpstream: nil},
		"labels":      map[string]string{shared.LabelComponent: to.Name},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode the mark of %s/%s: %w", live.Namespace, live.Name, err)
	}
	return patch, nil
}
