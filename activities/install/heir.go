package install

import (
	"context"
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// heir is a module that stays when another one with the same objects goes. A patch of the marks alone would look to it
// as if somebody kept changing its objects; so each object is applied as the heir itself does, and what that came to is
// recorded of it.
type heir struct {
	job *installation

	mu      sync.Mutex
	applied map[string]v1beta2.InventoryEntry
}

// heirsOf prepares those that the entries are left to, by their marks. One whose module is not installed as it is
// rendered now, or cannot be rendered for the moment, is none: it gets the marks, and sees to the rest in its own time.
func (a *Activities) heirsOf(ctx context.Context, used *usage, entries []v1beta2.InventoryEntry) map[string]*heir {
	heirs := map[string]*heir{}
	tried := map[string]bool{}
	for _, e := range entries {
		by := used.byID[e.ID]
		if by == nil || tried[markOf(by)] {
			continue
		}
		tried[markOf(by)] = true
		if !by.DeletionTimestamp.IsZero() || by.IsSkipReconciliation() || by.IsUnmanaged() || by.Status.InstalledRef != layersRef(by) {
			continue
		}
		if job, err := a.prepare(ctx, by); err == nil {
			heirs[markOf(by)] = &heir{job: job, applied: map[string]v1beta2.InventoryEntry{}}
		}
	}
	return heirs
}

// apply applies an object that both have as the heir has it. It tells whether it could. What others scale stays theirs,
// and a namespace may have been there before both.
func (h *heir) apply(ctx context.Context, e v1beta2.InventoryEntry, live *metav1.PartialObjectMetadata) bool {
	if h == nil || scaledByOthers(live) {
		return false
	}
	for number, objects := range h.job.plan.stages {
		for _, p := range objects {
			if p.entry.ID != e.ID || isJobKind(p.object.gvk.GroupKind()) || stage(number) == stageNamespaces {
				continue
			}
			entry, err := applyOne(ctx, h.job, p)
			if err != nil || entry.Hash == "" {
				return false
			}
			h.mu.Lock()
			h.applied[entry.ID] = entry
			h.mu.Unlock()
			return true
		}
	}
	return false
}

// record writes what was applied into the heir's inventory, so that its next look finds its objects as they are known.
func (h *heir) record(ctx context.Context, a *Activities) error {
	if len(h.applied) == 0 {
		return nil
	}
	now, err := a.read(ctx, kick.RefOf(h.job.manifest))
	if err != nil || now == nil {
		return err
	}
	err = a.recordStatus(ctx, now, func(s *v1beta2.ManifestStatus) {
		known := map[string]v1beta2.InventoryEntry{}
		for _, e := range s.Inventory {
			if entry, ok := h.applied[e.ID]; ok && !e.Leaving {
				known[e.ID] = entry
			}
		}
		setInventory(s, record(s.Inventory, known, nil))
	})
	if errors.Is(err, errChanged) {
		return nil // it is gone
	}
	return err
}
