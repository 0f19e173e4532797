package removal

import (
	"context"
	"fmt"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

const (
	// Patience is how long a reconcile waits for the deletion of a stage before it leaves the wait to the wait activity.
	Patience = 3 * time.Second
	// PatiencePause is the pause between two reads of the stage.
	PatiencePause = 250 * time.Millisecond
)

// RemoveStage removes the objects of one stage and waits up to Patience for their deletion. It returns what the
// removal still waits for; nil if nothing remains.
func (a *Removals) RemoveStage(ctx context.Context, r *Remover, entries []v1beta2.InventoryEntry) (*readiness.Observed, error) {
	for waited := time.Duration(0); ; waited += PatiencePause {
		if err := a.removeOrRead(ctx, r, entries, waited == 0); err != nil {
			return nil, err
		}
		if len(r.RemainingObjects) == 0 {
			return nil, nil //nolint:nilnil // nothing remains
		}
		if waited >= Patience {
			return StageWaits(r.RemainingObjects), nil
		}
		if err := objects.Sleep(ctx, PatiencePause); err != nil {
			return nil, err
		}
		pending := lists.Filter(entries, func(e v1beta2.InventoryEntry) bool { return !r.Gone[e.ID] })
		entries = pending
	}
}

// removeOrRead removes the objects at the first call. After that, it only reads which of them remain.
func (a *Removals) removeOrRead(ctx context.Context, r *Remover, entries []v1beta2.InventoryEntry, first bool) error {
	r.RemainingObjects = nil
	if first {
		return r.RemoveAll(ctx, entries, a.applier.Options.Parallel)
	}
	remaining, err := r.Remaining(ctx, entries)
	if err != nil {
		return clusters.Classify(err)
	}
	r.RemainingObjects = remaining
	return nil
}

// StageWaits returns the state of a removal that waits for these objects of a stage.
func StageWaits(remaining []string) *readiness.Observed {
	return &readiness.Observed{
		State: shared.StateDeleting, Reason: readiness.ReasonWaitingForResources,
		Message: fmt.Sprintf("waiting for %d resources to be gone: %s", len(remaining), objects.FirstOf(remaining)),
	}
}
