package sync

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// accept accepts what the remote Kyma asks for: it writes it into the control plane's status before anything acts on it.
// If the remote Kyma is invalid, the last accepted state stays in force, and invalid says why.
func (a *Activities) accept(ctx context.Context, kyma, copied *v1beta2.Kyma) (
	changed bool, invalid fault.Fault, err error,
) {
	if !copied.DeletionTimestamp.IsZero() {
		// The remote Kyma is created again with the last accepted state after it is gone. Edits before then do not count.
		if !desired.IsAccepted(kyma) {
			return false, invalid, beingDeleted(copied)
		}
		return false, invalid, nil
	}
	if problem := desired.CheckRemote(copied.Spec.Channel, copied.Spec.Modules); problem != "" {
		return false, invalidRemote(copied, problem), a.noteRefused(ctx, kyma, copied)
	}
	before := kyma.Status.Remote
	accepted := acceptedFrom(before, copied)
	if problem := checkDeferral(copied); problem != "" {
		invalid = invalidRemote(copied, problem) // everything else is accepted
	}
	if equality.Semantic.DeepEqual(*before, accepted) {
		return false, invalid, nil
	}
	changed = before.UID == "" || before.Channel != accepted.Channel || before.DeferUpgradesUntil != accepted.DeferUpgradesUntil ||
		!equality.Semantic.DeepEqual(before.Modules, accepted.Modules)
	err = a.record(ctx, kyma, accepted, a.planned(ctx, kyma, accepted))
	if apierrors.IsInvalid(err) {
		// The CRD in the remote cluster is less strict than ours.
		return false, invalidRemote(copied, "its modules are not valid: "+err.Error()), a.noteRefused(ctx, kyma, copied)
	}
	return changed, invalid, err
}

func beingDeleted(copied *v1beta2.Kyma) error {
	return fault.New(fault.Transient, ReasonRemoteKymaDeleting, "remote Kyma %s is being deleted", desired.NameOf(copied))
}

// acceptedFrom returns the record of a synchronization after accepting what a remote Kyma asks for.
func acceptedFrom(before *v1beta2.RemoteStatus, copied *v1beta2.Kyma) v1beta2.RemoteStatus {
	accepted := *before.DeepCopy()
	accepted.UID = string(copied.UID)
	accepted.ObservedGeneration = copied.Generation
	accepted.Channel = copied.Spec.EffectiveChannel()
	accepted.Modules = copied.Spec.Modules
	accepted.DeferUpgradesUntil = deferralOf(copied)
	return accepted
}

// noteRefused records the refused generation of the remote Kyma, so that the sweep does not take it for a new edit each
// time. The last accepted state stays in force.
func (a *Activities) noteRefused(ctx context.Context, kyma, copied *v1beta2.Kyma) error {
	if !desired.IsAccepted(kyma) || kyma.Status.Remote.ObservedGeneration == copied.Generation {
		return nil
	}
	accepted := *kyma.Status.Remote.DeepCopy()
	accepted.ObservedGeneration = copied.Generation
	return a.record(ctx, kyma, accepted)
}

func invalidRemote(copied *v1beta2.Kyma, problem string) fault.Fault {
	return fault.Fault{
		Kind: fault.Rejected, Reason: ReasonRemoteKymaInvalid,
		Message: fault.Message(fmt.Sprintf("remote Kyma %s cannot be accepted: %s", desired.NameOf(copied), problem)),
	}
}

// planned returns a change that adds the resulting plan to the same status write, which saves the resolution a write. It
// returns nil if there is no plan now; the resolution then records the plan. planned does not record a plan that changes
// existing Manifests. Those are written by the resolution, which may be much later if the rest of the synchronization
// fails. Before that, their modules must match the recorded plan.
func (a *Activities) planned(ctx context.Context, kyma *v1beta2.Kyma, accepted v1beta2.RemoteStatus) func(*v1beta2.KymaStatus) {
	if a.Plan == nil {
		return nil
	}
	asking := kyma.DeepCopy()
	asking.Status.Remote = &accepted
	names, entries, err := a.Plan(ctx, asking)
	if err != nil {
		return nil
	}
	return func(s *v1beta2.KymaStatus) {
		s.Manifests = desired.Recorded(s.Manifests, names)
		if !slices.ContainsFunc(s.Planned, func(before v1beta2.PlannedManifest) bool { return !slices.Contains(entries, before) }) {
			s.Planned = entries
		}
	}
}
