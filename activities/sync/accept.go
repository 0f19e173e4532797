package sync

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// accept accepts what the remote Kyma asks for: it is in the control plane's status before anybody acts on
// it. What cannot be accepted leaves the last accepted in force, and is returned as invalid.
func (a *Activities) accept(ctx context.Context, kyma, copied *v1beta2.Kyma) (
	changed bool, invalid fault.Fault, err error,
) {
	if !copied.DeletionTimestamp.IsZero() {
		// It comes back, with what was last accepted, as soon as it is gone. What it says until then is no
		// wish any more.
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
		invalid = invalidRemote(copied, problem) // all else is accepted
	}
	if equality.Semantic.DeepEqual(*before, accepted) {
		return false, invalid, nil
	}
	changed = before.UID == "" || before.Channel != accepted.Channel || before.DeferUpgradesUntil != accepted.DeferUpgradesUntil ||
		!equality.Semantic.DeepEqual(before.Modules, accepted.Modules)
	err = a.record(ctx, kyma, accepted, a.expected(ctx, kyma, accepted)...)
	if apierrors.IsInvalid(err) {
		// The definition in the remote cluster is laxer than ours.
		return false, invalidRemote(copied, "its modules are not valid: "+err.Error()), a.noteRefused(ctx, kyma, copied)
	}
	return changed, invalid, err
}

func beingDeleted(copied *v1beta2.Kyma) error {
	return fault.New(fault.Transient, ReasonRemoteKymaDeleting, "remote Kyma %s is being deleted", desired.NameOf(copied))
}

// acceptedFrom returns the record of a synchronization with what a remote Kyma asks for.
func acceptedFrom(before *v1beta2.RemoteStatus, copied *v1beta2.Kyma) v1beta2.RemoteStatus {
	accepted := *before.DeepCopy()
	accepted.UID = string(copied.UID)
	accepted.ObservedGeneration = copied.Generation
	accepted.Channel = copied.Spec.EffectiveChannel()
	accepted.Modules = copied.Spec.Modules
	accepted.DeferUpgradesUntil = deferralOf(copied)
	return accepted
}

// noteRefused notes which generation of the remote Kyma was refused, so that the sweep does not take it for
// a new edit each time. What was last accepted stays.
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

// expected are the names of the Manifests that will be made for what is asked for, as far as the catalog says now. That
// they are on record before spares a write of their own; what is missing here is recorded by who makes them.
func (a *Activities) expected(ctx context.Context, kyma *v1beta2.Kyma, accepted v1beta2.RemoteStatus) []string {
	asking := kyma.DeepCopy()
	asking.Status.Remote = &accepted
	wanted := desired.WantedBy(asking, desired.SyncOf(asking, a.settings))
	catalog, err := desired.Gather(ctx, desired.NewCached(a.catalog), a.settings, wanted)
	if err != nil {
		return nil
	}
	return catalog.ManifestNames(kyma.Name)
}
