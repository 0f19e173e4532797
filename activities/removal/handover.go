package removal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/inventory"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Kymas that share a cluster may have the same module there. Each applies all of it, and what is not in a namespace of
// its own carries the mark of whoever came last. A Manifest that goes removes only what no other one needs; what one
// has as well it gives that one's mark, so that the last of them removes it.

// usage is what others have in the cluster of a remover, read once.
func (a *Removals) usage(ctx context.Context, r *Remover, m *v1beta2.Manifest) (*usage, error) {
	if r.Used != nil {
		return r.Used, nil
	}
	used, err := a.usedByOthers(ctx, m, r.Cluster)
	if err != nil {
		return nil, err
	}
	r.Used = used
	return used, nil
}

// BlockingCRs finds the custom resources that a removal has to wait for. Where another Kyma has a kind as well, that stays
// with all its custom resources, and blocks nothing.
func (a *Removals) BlockingCRs(ctx context.Context, r *Remover, m *v1beta2.Manifest) (blockingCRs, error) {
	seen, err := r.findCRs(ctx, m)
	if err != nil || seen.own == nil && len(seen.others) == 0 {
		return seen, clusters.Classify(err)
	}
	used, err := a.usage(ctx, r, m)
	if err != nil {
		return seen, err
	}
	if seen.others, err = used.withoutUsed(ctx, r, seen.others); err != nil {
		return seen, clusters.Classify(err)
	}
	if seen.own != nil {
		id, err := v1beta2.InventoryID(seen.own.kind, types.NamespacedName{Namespace: seen.own.meta.Namespace, Name: seen.own.meta.Name})
		if err == nil && used.ByID[id] != nil {
			seen.own = nil
		}
	}
	if len(seen.others) > 0 && r.allowed == nil {
		allowed, err := a.lossAllowed(ctx, r, m)
		if err != nil {
			return seen, err
		}
		r.allowed = &allowed
	}
	seen.allowed = len(seen.others) > 0 && *r.allowed
	return seen, nil
}

// withoutUsed are those of the custom resources whose kind nobody else uses.
func (u *usage) withoutUsed(ctx context.Context, r *Remover, crs []foundCR) ([]foundCR, error) {
	uses := map[schema.GroupKind]bool{}
	var rest []foundCR
	for _, cr := range crs {
		used, known := uses[cr.kind]
		if !known {
			var err error
			if used, err = u.usesKind(ctx, r, cr.kind); err != nil {
				return nil, err
			}
			uses[cr.kind] = used
		}
		if !used {
			rest = append(rest, cr)
		}
	}
	return rest, nil
}

// HandOverToOthers returns those of the entries that nobody else needs, and names the module's objects that stay because
// somebody does. What others have as well is theirs from then on.
func (a *Removals) HandOverToOthers(ctx context.Context, r *Remover, m *v1beta2.Manifest, entries []v1beta2.InventoryEntry) (own []v1beta2.InventoryEntry, stay []string, err error) {
	used, err := a.usage(ctx, r, m)
	if err != nil || len(used.Manifests) == 0 {
		return entries, nil, err
	}
	var left []v1beta2.InventoryEntry
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
		left = append(left, e)
		users[e.ID] = by
	}
	if len(left) == 0 {
		return own, nil, nil
	}
	if err := a.steps.Unchanged(ctx, m); err != nil {
		return nil, nil, err
	}
	heirs := a.successorsOf(ctx, used, left)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(a.applier.Options.Parallel)
	for _, e := range left {
		group.Go(func() error {
			by := users[e.ID]
			was, err := r.handOver(groupCtx, e, by, heirs[inventory.MarkOf(by)], used.ByID[e.ID] == by)
			if err != nil {
				return clusters.Classify(err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if by == used.ByID[e.ID] || !r.KeepUserData {
				r.Gone[e.ID] = true
			}
			if was != "" {
				stay = append(stay, was+" is used by Kyma "+manifests.KymaRefOf(by).String())
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for _, h := range heirs {
		if err := h.record(ctx, a); err != nil {
			return nil, nil, err
		}
	}
	slices.Sort(stay)
	return own, stay, nil
}

// HandOver leaves an object to another Manifest, with its mark where that has the object too: as the heir applies it, where
// that can be, for then it is as the other one left it. It describes the object when that was ours.
func (r *Remover) handOver(ctx context.Context, e v1beta2.InventoryEntry, to *v1beta2.Manifest, h *successor, hasIt bool) (string, error) {
	gvk, name, err := e.Object()
	if err != nil || kinds.IsProtected(gvk, name) {
		return "", err
	}
	described := objects.Describe(gvk.Kind, name)
	for try := 1; ; try++ {
		live, resource, err := r.Live(ctx, gvk, name)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", described, err)
		}
		if live == nil || !r.Owner.Owns(live) {
			return "", nil
		}
		if !hasIt {
			return described, nil
		}
		if h.apply(ctx, e, live) {
			return described, nil
		}
		patch, err := markPatch(live, inventory.OwnerOf(to))
		if err != nil {
			return "", err
		}
		_, err = r.Cluster.Metadata.Resource(resource.GroupVersionResource).Namespace(name.Namespace).
			Patch(ctx, name.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: shared.FieldManagerModuleResources})
		switch {
		case err == nil:
			return described, nil
		case apierrors.IsNotFound(err):
			return "", nil
		case !apierrors.IsConflict(err) || try == manifests.StatusTries:
			return "", fmt.Errorf("leave %s to Manifest %s: %w", described, inventory.MarkOf(to), err)
		}
	}
}

// markPatch gives this very version of an object the mark of another Manifest.
func markPatch(live *metav1.PartialObjectMetadata, to inventory.Owner) ([]byte, error) {
	patch, err := json.Marshal(map[string]any{kinds.PathMetadata: map[string]any{
		"uid": live.UID, "resourceVersion": live.ResourceVersion,
		"annotations": map[string]string{shared.AnnotationOwnedBy: to.Mark},
		"labels":      map[string]string{shared.LabelComponent: to.Name},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode the mark of %s/%s: %w", live.Namespace, live.Name, err)
	}
	return patch, nil
}
