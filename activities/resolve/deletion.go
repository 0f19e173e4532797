package resolve

import (
	"context"
	"errors"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/kymas"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// DeleteManifests deletes every Manifest of a Kyma under deletion. This includes the Manifests of mandatory modules,
// those with the skip-reconciliation label, and those of another instance. It returns the remaining Manifests, and when
// their removal must be forced. If one Manifest cannot be deleted, the others are still deleted, and DeleteResult.Fault
// says why.
func (a *Activities) DeleteManifests(ctx context.Context, in Input) (DeleteResult, error) {
	kyma, outcome, err := outcomeOf(kymas.Read(ctx, a.ControlPlane, a.Settings, in.Ref))
	if err == nil && outcome == OutcomeGone {
		left, err := a.Known.LeftBy(ctx, in.Ref, in.Seen)
		return DeleteResult{Outcome: outcome, Removing: left}, err
	}
	if err != nil || outcome != OutcomeDeleting {
		return DeleteResult{Outcome: outcome, Alive: outcome == OutcomeDone || outcome == OutcomeSkipped}, err
	}
	all, err := a.Known.AllManifests(ctx, kyma, in.Seen)
	if err != nil {
		return DeleteResult{}, err
	}
	own := all.Own
	result := DeleteResult{Outcome: OutcomeDeleting, OrderlyFor: a.Settings.Purge.Orderly}
	result.PurgeAt, _ = desired.PurgeTime(kyma, a.Settings.Purge)
	if desired.IsOrphaning(kyma) {
		// The Manifests belong to the Kyma until the garbage collector releases them. None of them is deleted or forced.
		for i := range own {
			result.Remaining = append(result.Remaining, own[i].Name)
		}
		result.PurgeAt = time.Time{}
		return result, nil
	}
	if own, err = a.withoutAgents(ctx, kyma, own); err != nil {
		return DeleteResult{}, err
	}
	held, err := a.held(ctx, kyma, lists.Pointers(own))
	if err != nil {
		return DeleteResult{}, err
	}
	if !held.IsZero() {
		return heldResult(result, own, held), nil
	}
	result.PurgeDue = !result.PurgeAt.IsZero() && !a.Now().Before(result.PurgeAt)
	var failed []error
	for i := range own {
		manifest := &own[i]
		var refused error
		if manifest.DeletionTimestamp.IsZero() {
			refused = deleteManifest(ctx, a.ControlPlane, manifest)
			failed = append(failed, refused)
		}
		// Only a Manifest without finalizers is gone immediately.
		if refused != nil || len(manifest.Finalizers) > 0 {
			result.Remaining = append(result.Remaining, manifest.Name)
			result.Manifests = append(result.Manifests, kick.RefOf(manifest))
			if refused == nil && manifests.HasOwnFinalizer(manifest) {
				result.Removing = append(result.Removing, kick.RefOf(manifest))
			}
			if !desired.InControlPlane(manifest) && !desired.ByLocalClient(manifest) {
				result.WithoutAccess = append(result.WithoutAccess, kick.RefOf(manifest))
			}
		}
	}
	result.Fault = notDeleted(failed)
	if len(result.WithoutAccess) > 0 {
		result.Access = a.missingAccess(ctx, kyma)
	}
	if result.Access.IsZero() {
		result.WithoutAccess = nil
	}
	return result, nil
}

// heldResult returns the result of a deletion that the removal budget holds. No deadline runs, because an orderly removal
// has not begun. The result lists the Manifests so that a requested purge cannot skip to the rest of the cluster: it must
// force these Manifests first, and the budget holds that too.
func heldResult(result DeleteResult, own []v1beta2.Manifest, held fault.Fault) DeleteResult {
	for i := range own {
		result.Remaining = append(result.Remaining, own[i].Name)
		result.Manifests = append(result.Manifests, kick.RefOf(&own[i]))
	}
	result.PurgeAt, result.Fault = time.Time{}, held
	return result
}

// ReasonManifestsNotDeleted: the control plane refused to delete Manifests of a Kyma under deletion.
const ReasonManifestsNotDeleted = "ManifestsNotDeleted"

// notDeleted returns the fault of failed deletions. It is always transient, because a retry may help with each of them.
func notDeleted(failed []error) fault.Fault {
	err := errors.Join(failed...)
	if err == nil {
		return fault.Fault{}
	}
	return fault.Fault{Kind: fault.Transient, Reason: ReasonManifestsNotDeleted, Message: fault.Message(err.Error())}
}

// missingAccess returns a fault if a complete read shows that no access Secret exists. All other problems with the
// access, or with reading it, return no fault.
func (a *Activities) missingAccess(ctx context.Context, kyma *v1beta2.Kyma) fault.Fault {
	if a.Clusters == nil {
		return fault.Fault{}
	}
	_, err := a.Clusters.ForKyma(ctx, kyma.Namespace, kyma.Name)
	if f := fault.Of(err); f.Reason == clusters.ReasonAccessSecretNotFound {
		return f
	}
	return fault.Fault{}
}

// withoutAgents returns the Manifests of a Kyma under deletion that may be deleted now. The agent is removed after all
// modules, and its certificate right before it (docs/contract.md#removal). While modules are removed, the agent still
// reports what happens in their cluster.
func (a *Activities) withoutAgents(ctx context.Context, kyma *v1beta2.Kyma, all []v1beta2.Manifest) ([]v1beta2.Manifest, error) {
	modules, own := planning.SplitAgents(all)
	if len(own) == 0 || len(modules) > 0 {
		return modules, nil
	}
	if a.Certificates != nil {
		if err := a.Certificates.Remove(ctx, kyma); err != nil {
			return nil, err
		}
	}
	return all, nil
}
