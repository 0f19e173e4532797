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

// DeleteManifests deletes every Manifest of a Kyma under deletion, also those of mandatory modules, those
// that are to be left unchanged otherwise, and those that another instance made, and says which are left and when their
// removal is to be forced. One that cannot be deleted keeps no other from it: DeleteResult.Fault says so.
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
		// They are the Kyma's only until the garbage collector has processed them. Nothing of them is deleted or forced.
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
		// Deleted and gone at once is only what has no finalizer.
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

// heldResult is the result of a deletion that the removal budget holds. No deadline runs: an orderly removal has not begun.
// That the Manifests are named keeps a purge, should somebody ask for one, from the rest of the cluster: it would have to
// force them first, which the budget holds as well.
func heldResult(result DeleteResult, own []v1beta2.Manifest, held fault.Fault) DeleteResult {
	for i := range own {
		result.Remaining = append(result.Remaining, own[i].Name)
		result.Manifests = append(result.Manifests, kick.RefOf(&own[i]))
	}
	result.PurgeAt, result.Fault = time.Time{}, held
	return result
}

// ReasonManifestsNotDeleted: the control plane refuses to delete Manifests of a Kyma under deletion.
const ReasonManifestsNotDeleted = "ManifestsNotDeleted"

// notDeleted is the fault of deletions that failed, whatever it was: trying again may help with each of them.
func notDeleted(failed []error) fault.Fault {
	err := errors.Join(failed...)
	if err == nil {
		return fault.Fault{}
	}
	return fault.Fault{Kind: fault.Transient, Reason: ReasonManifestsNotDeleted, Message: fault.Message(err.Error())}
}

// missingAccess is the fault that no access Secret is there, by a complete reading. Whatever else is wrong with the
// access, or with reading it, is none.
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

// withoutAgents are the Manifests of a Kyma under deletion that go now. The agent goes after all modules, and its certificate
// before it (docs/contract.md#removal): while modules are removed, what happens in their cluster is still reported.
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
