package removal

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// RemoveAll removes the objects of the entries, up to parallel at a time, and records which ones no longer exist and
// which remain.
func (r *Remover) RemoveAll(ctx context.Context, entries []v1beta2.InventoryEntry, parallel int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, e := range entries {
		group.Go(func() error {
			there, err := r.remove(ctx, e)
			if err != nil {
				return clusters.Classify(err)
			}
			r.note(e, there)
			return nil
		})
	}
	return group.Wait()
}

// deletionReads is how often a deleted object is read if it seems unchanged, because the answer may be stale.
const deletionReads = 2

// remove removes one object as far as possible now. It reports whether the object still exists and is still ours.
func (r *Remover) remove(ctx context.Context, e v1beta2.InventoryEntry) (bool, error) {
	gvk, name, err := e.Object()
	if err != nil {
		return false, err
	}
	described := objects.Describe(gvk.Kind, name)
	live, resource, err := r.Live(ctx, gvk, name)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", described, err)
	}
	switch {
	case live == nil:
		return false, nil
	case !r.Owner.Owns(live), r.IsProtected(gvk, name):
		// An object that another owner has marked, or that existed before us, is not ours to remove.
		return false, r.releaseNamespace(ctx, gvk, live, resource)
	case !live.DeletionTimestamp.IsZero():
		return true, nil
	case r.keepsOwn(live):
		return false, r.letStay(ctx, gvk, name, r.Owner.Owns)
	}
	keep, err := r.keeps(ctx, gvk, name)
	if err != nil {
		return false, fmt.Errorf("check what depends on %s: %w", described, err)
	}
	if keep {
		return r.KeepUserData, nil
	}
	accepted, err := objects.Delete(ctx, r.Cluster, resource.GroupVersionResource, name, live.UID)
	if err != nil {
		return false, fmt.Errorf("delete %s: %w", described, err)
	}
	if accepted {
		r.mu.Lock()
		r.Deleted++
		r.mu.Unlock()
	}
	// The object counts as deleted only after a read has not found it, because finalizers may hold it.
	for range deletionReads {
		if live, _, err = r.Live(ctx, gvk, name); err != nil {
			return false, fmt.Errorf("read %s: %w", described, err)
		}
		if live == nil || !live.DeletionTimestamp.IsZero() {
			break
		}
	}
	return live != nil && r.Owner.Owns(live), nil
}
