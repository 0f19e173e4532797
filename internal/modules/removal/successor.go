package removal

import (
	"context"
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// successor is a module that stays when another one with the same objects is removed. A patch of the marks alone would
// look to it as if somebody kept changing its objects; so each object is applied as the successor itself does, and the
// result is recorded in its inventory.
type successor struct {
	job *apply.Installation

	mu      sync.Mutex
	applied map[string]v1beta2.InventoryEntry
}

// successorsOf prepares those that the entries are handed over to, by their marks. One whose module is not installed as
// it is rendered now, or cannot be rendered for the moment, is skipped: it gets the marks, and applies the objects in
// its own next reconcile.
func (a *Removals) successorsOf(ctx context.Context, used *usage, entries []v1beta2.InventoryEntry) map[string]*successor {
	successors := map[string]*successor{}
	tried := map[string]bool{}
	for _, e := range entries {
		by := used.ByID[e.ID]
		if by == nil || tried[inventory.MarkOf(by)] {
			continue
		}
		tried[inventory.MarkOf(by)] = true
		if !by.IsMaintained() || by.Status.InstalledRef != inventory.LayersRef(by) {
			continue
		}
		if job, err := a.applier.Prepare(ctx, by); err == nil {
			successors[inventory.MarkOf(by)] = &successor{job: job, applied: map[string]v1beta2.InventoryEntry{}}
		}
	}
	return successors
}

// apply applies an object that both have as the successor has it. It tells whether it could. Replicas that others scale
// stay theirs, and a namespace may have existed before both.
func (s *successor) apply(ctx context.Context, e v1beta2.InventoryEntry, live *metav1.PartialObjectMetadata) bool {
	if s == nil || inventory.ScaledByOthers(live) {
		return false
	}
	for number, objects := range s.job.Plan.Stages {
		for _, p := range objects {
			if p.Entry.ID != e.ID || kinds.IsJob(p.Object.GVK.GroupKind()) || kinds.Stage(number) == kinds.StageNamespaces {
				continue
			}
			entry, err := apply.Object(ctx, s.job, p)
			if err != nil || entry.Hash == "" {
				return false
			}
			s.mu.Lock()
			s.applied[entry.ID] = entry
			s.mu.Unlock()
			return true
		}
	}
	return false
}

// record writes what was applied into the successor's inventory, so that its next reconcile finds its objects as
// recorded.
func (s *successor) record(ctx context.Context, a *Removals) error {
	if len(s.applied) == 0 {
		return nil
	}
	now, err := a.steps.Read(ctx, kick.RefOf(s.job.Manifest))
	if err != nil || now == nil {
		return err
	}
	err = a.steps.RecordStatus(ctx, now, func(status *v1beta2.ManifestStatus) {
		known := map[string]v1beta2.InventoryEntry{}
		for _, e := range status.Inventory {
			if entry, ok := s.applied[e.ID]; ok && !e.Leaving {
				known[e.ID] = entry
			}
		}
		inventory.SetInventory(status, inventory.Record(status.Inventory, known, nil))
	})
	if errors.Is(err, manifests.ErrChanged) {
		return nil // it is gone
	}
	return err
}
