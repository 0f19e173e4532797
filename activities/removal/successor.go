package removal

import (
	"context"
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/apply"
	"github.com/kyma-project/lifecycle-manager/activities/drift"
	"github.com/kyma-project/lifecycle-manager/activities/inventory"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// successor is a module that stays when another one with the same objects goes. A patch of the marks alone would look to it
// as if somebody kept changing its objects; so each object is applied as the heir itself does, and what that came to is
// recorded of it.
type successor struct {
	job *apply.Installation

	mu      sync.Mutex
	applied map[string]v1beta2.InventoryEntry
}

// successorsOf prepares those that the entries are left to, by their marks. One whose module is not installed as it is
// rendered now, or cannot be rendered for the moment, is none: it gets the marks, and sees to the rest in its own time.
func (a *Removals) successorsOf(ctx context.Context, used *usage, entries []v1beta2.InventoryEntry) map[string]*successor {
	heirs := map[string]*successor{}
	tried := map[string]bool{}
	for _, e := range entries {
		by := used.ByID[e.ID]
		if by == nil || tried[inventory.MarkOf(by)] {
			continue
		}
		tried[inventory.MarkOf(by)] = true
		if !by.DeletionTimestamp.IsZero() || by.IsSkipReconciliation() || by.IsUnmanaged() || by.Status.InstalledRef != inventory.LayersRef(by) {
			continue
		}
		if job, err := a.applier.Prepare(ctx, by); err == nil {
			heirs[inventory.MarkOf(by)] = &successor{job: job, applied: map[string]v1beta2.InventoryEntry{}}
		}
	}
	return heirs
}

// apply applies an object that both have as the heir has it. It tells whether it could. What others scale stays theirs,
// and a namespace may have been there before both.
func (h *successor) apply(ctx context.Context, e v1beta2.InventoryEntry, live *metav1.PartialObjectMetadata) bool {
	if h == nil || drift.ScaledByOthers(live) {
		return false
	}
	for number, objects := range h.job.Plan.Stages {
		for _, p := range objects {
			if p.Entry.ID != e.ID || kinds.IsJob(p.Object.GVK.GroupKind()) || kinds.Stage(number) == kinds.StageNamespaces {
				continue
			}
			entry, err := apply.ApplyOne(ctx, h.job, p)
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
func (h *successor) record(ctx context.Context, a *Removals) error {
	if len(h.applied) == 0 {
		return nil
	}
	now, err := a.steps.Read(ctx, kick.RefOf(h.job.Manifest))
	if err != nil || now == nil {
		return err
	}
	err = a.steps.RecordStatus(ctx, now, func(s *v1beta2.ManifestStatus) {
		known := map[string]v1beta2.InventoryEntry{}
		for _, e := range s.Inventory {
			if entry, ok := h.applied[e.ID]; ok && !e.Leaving {
				known[e.ID] = entry
			}
		}
		inventory.SetInventory(s, inventory.Record(s.Inventory, known, nil))
	})
	if errors.Is(err, manifests.ErrChanged) {
		return nil // it is gone
	}
	return err
}
