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

// successor is a module that stays when another module with the same objects is removed. If only the marks were
// patched, the successor would think that somebody keeps changing its objects. So each object is applied as the
// successor itself does, and the result is recorded in the successor's inventory.
type successor struct {
	job *apply.Installation

	mu      sync.Mutex
	applied map[string]v1beta2.InventoryEntry
}

// successorsOf prepares the modules that the entries are handed over to, by their marks. It skips a module if the
// installed version is not the rendered one, or if the module cannot be rendered for the moment. Such a module's
// objects only get its marks, and its next reconcile applies them.
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

// apply applies an object that both modules have as the successor does. It reports whether it could. It skips objects
// with replicas that others scale, and namespaces, which may have existed before both modules.
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

// record writes the applied objects into the successor's inventory, so that its next reconcile finds them as
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
		return nil // the Manifest no longer exists
	}
	return err
}
