package uninstall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/adoption"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// RemoveManifest moves the removal forward as far as possible without waiting long. It deletes the default custom
// resource first, while its operator still runs. If no user-created custom resource of the module's kinds remains, it
// deletes the resources in reverse order of their stages. It removes the finalizers last. If the removal has to wait, the
// outcome is OutcomeWaiting and Observed says for what. RemoveManifest can be interrupted and run again at any point.
func (a *Activities) RemoveManifest(ctx context.Context, in RemoveInput) (RemoveResult, error) {
	ctx, news := manifests.Noting(ctx)
	result, err := a.Remove(ctx, in.Ref)
	if errors.Is(err, manifests.ErrChanged) {
		result, err = a.afterChange(ctx, in.Ref)
	}
	result.News = *news
	return result, err
}

// afterChange returns the result of a reconcile that was cut short because the Manifest changed: the Manifest is gone, or
// it has a newer version.
func (a *Activities) afterChange(ctx context.Context, ref kick.Ref) (RemoveResult, error) {
	now, err := a.steps.Read(ctx, ref)
	if err != nil || now == nil {
		return RemoveResult{Outcome: manifests.OutcomeGone}, err
	}
	return RemoveResult{}, &fault.Error{
		Kind: fault.Transient, Reason: manifests.ReasonManifestChanged, RetryAfter: time.Second,
		Message: fmt.Sprintf("Manifest %s changed during its removal", ref),
	}
}

// Remove is RemoveManifest for callers in this process. Unlike RemoveManifest it returns manifests.ErrChanged if the
// Manifest changed.
func (a *Activities) Remove(ctx context.Context, ref kick.Ref) (RemoveResult, error) {
	m, err := a.steps.Read(ctx, ref)
	if err != nil {
		return RemoveResult{}, err
	}
	switch {
	case m == nil:
		return RemoveResult{Outcome: manifests.OutcomeGone}, nil
	case m.DeletionTimestamp.IsZero():
		return RemoveResult{Outcome: manifests.OutcomeApplied}, nil
	case !manifests.HasOwnFinalizer(m):
		return RemoveResult{Outcome: manifests.OutcomeRemoved}, nil
	}
	ownership, err := a.steps.CheckOwnership(ctx, m)
	if err != nil {
		return RemoveResult{}, err
	}
	if ownership.Refusal != nil {
		return RemoveResult{Outcome: manifests.OutcomeRefused, Observed: *ownership.Refusal}, nil
	}
	if ownership.Orphaned {
		a.steps.Recorder.Orphaned(m)
		return RemoveResult{Outcome: manifests.OutcomeRemoved}, a.steps.RemoveFinalizers(ctx, m)
	}
	if m.IsSkipReconciliation() {
		if goes, err := a.steps.IsKymaBeingDeleted(ctx, m); err != nil || !goes {
			return RemoveResult{Outcome: manifests.OutcomeSkipped, Observed: manifests.Skipped(m)}, err
		}
	}
	if err := adoption.Adopt(ctx, a.steps, m); err != nil {
		return RemoveResult{}, err
	}
	if m.IsUnmanaged() {
		if err := a.removals.Unmanage(ctx, m); err != nil {
			return RemoveResult{}, err
		}
		return RemoveResult{Outcome: manifests.OutcomeRemoved}, nil
	}
	if handed, err := a.steps.HandOver(ctx, m); err != nil {
		return RemoveResult{}, err
	} else if handed {
		return RemoveResult{Outcome: manifests.OutcomeRemoved}, a.steps.RemoveFinalizers(ctx, m)
	}
	if len(m.Status.Inventory) == 0 && m.Status.DefaultCR == nil {
		if err := a.removals.RecoverRemoval(ctx, m); err != nil {
			return RemoveResult{}, err
		}
	}
	if len(m.Status.Inventory) > 0 || m.Status.DefaultCR != nil {
		waiting, err := a.removeAll(ctx, m)
		if err != nil || waiting != nil {
			return waitingFor(waiting), err
		}
	}
	return RemoveResult{Outcome: manifests.OutcomeRemoved}, a.steps.RemoveFinalizers(ctx, m)
}

func waitingFor(o *readiness.Observed) RemoveResult {
	if o == nil {
		return RemoveResult{}
	}
	return RemoveResult{Outcome: manifests.OutcomeWaiting, Observed: *o}
}

// removeAll removes everything that the Manifest brought and that no other Kyma in the same cluster needs. It returns
// what the removal waits for, or nil if nothing is left.
func (a *Activities) removeAll(ctx context.Context, m *v1beta2.Manifest) (*readiness.Observed, error) {
	cluster, err := a.steps.Target(ctx, m)
	if err != nil {
		return nil, err
	}
	r := removal.NewRemover(m, cluster)
	defer func() { a.steps.Recorder.KeptByPolicy(m, r.KeptByPolicy) }()
	waiting, err := a.removals.RemoveModuleCRs(ctx, r, m)
	if err == nil && waiting != nil && waiting.Reason == readiness.ReasonWaitingForModuleCR {
		err = a.upgradeWhileDeleting(ctx, m, *waiting)
	}
	if err != nil || waiting != nil {
		return waiting, err
	}
	own, stay, err := a.removals.HandOverToOthers(ctx, r, m, m.Status.Inventory)
	if err != nil {
		return nil, err
	}
	a.steps.Recorder.KeptForOthers(m, stay)
	for s := kinds.StageCount - 1; s >= 0 && waiting == nil; s-- {
		entries := inventory.OfStage(own, s)
		if len(entries) == 0 {
			continue
		}
		if s == kinds.StageNamespaces {
			if r.OtherModules, err = a.steps.OtherModules(ctx, m); err != nil {
				return nil, err
			}
			if r.OtherModules, err = a.steps.ReadLive(ctx, r.OtherModules); err != nil {
				return nil, err
			}
			r.OtherModules = append(r.OtherModules, r.Used.Manifests...)
		}
		if err := a.steps.Unchanged(ctx, m); err != nil {
			return nil, err
		}
		if waiting, err = a.removals.RemoveStage(ctx, r, entries); err != nil {
			return nil, err
		}
	}
	a.steps.Recorder.KeptForOthers(m, r.Kept)
	if waiting == nil {
		// The Manifest will be released, so its inventory is no longer needed.
		return nil, nil //nolint:nilnil // waiting for nothing is the good case
	}
	err = a.steps.RecordStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		inventory.SetInventory(s, inventory.Record(s.Inventory, nil, r.Gone))
	})
	return waiting, err
}
