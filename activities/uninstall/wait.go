package uninstall

import (
	"context"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// WaitRemoval checks what a removal waits for until this differs from in.Reported. RemoveManifest then has to run again.
// An attempt that finds nothing new ends with a benign fault.Pending error. After 5 failed reads in a row WaitRemoval
// returns their fault. It writes nothing.
func (a *Activities) WaitRemoval(ctx context.Context, in RemoveInput) (RemoveResult, error) {
	var result RemoveResult
	watch := manifests.Watch{Clock: a.steps.Options.Clock, For: "the removal", Since: make([]time.Time, 1)}
	watch.Read = func(ctx context.Context, _ int, _ manifests.Wait) (found manifests.Found, err error) {
		result, err = a.CheckRemoval(ctx, in.Ref)
		if result.Outcome != manifests.OutcomeWaiting || result.Observed != in.Reported {
			found = manifests.Pressing
		}
		return found, err
	}
	failures, err := watch.Until(ctx)
	if err == nil {
		err = failures[0]
	}
	return result, err
}

// CheckRemoval returns what a removal waits for. OutcomeRemoved means that nothing is left to wait for.
func (a *Activities) CheckRemoval(ctx context.Context, ref kick.Ref) (RemoveResult, error) {
	m, err := a.steps.Read(ctx, ref)
	if err != nil {
		return RemoveResult{}, err
	}
	switch {
	case m == nil:
		return RemoveResult{Outcome: manifests.OutcomeGone}, nil
	case m.DeletionTimestamp.IsZero():
		return RemoveResult{Outcome: manifests.OutcomeApplied}, nil
	}
	cluster, err := a.steps.Reach(ctx, m)
	if err != nil {
		return RemoveResult{}, err
	}
	r := removal.NewRemover(m, cluster)
	seen, err := a.removals.BlockingCRs(ctx, r, m)
	if err != nil {
		return RemoveResult{}, err
	}
	if waiting := seen.Waiting(); waiting != nil {
		return waitingFor(waiting), nil
	}
	for s := kinds.StageCount - 1; s >= 0; s-- {
		remaining, err := r.Remaining(ctx, inventory.OfStage(m.Status.Inventory, s))
		if err != nil {
			return RemoveResult{}, clusters.Classify(err)
		}
		if len(remaining) > 0 {
			return waitingFor(removal.StageWaits(remaining)), nil
		}
	}
	return RemoveResult{Outcome: manifests.OutcomeRemoved}, nil
}
