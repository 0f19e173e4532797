package sync

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/kymas"
	"github.com/kyma-project/lifecycle-manager/activities/sync/catalog"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// CleanupRemote removes what a Kyma under deletion has in its remote cluster, in the order of
// docs/contract.md#removal: catalog, remote Kyma, definitions that we brought and nobody else uses. The namespace stays.
// Its Manifests must be gone before.
func (a *Activities) CleanupRemote(ctx context.Context, in CleanupInput) (Result, error) {
	kyma, standing, err := kymas.Read(ctx, a.controlPlane, a.settings, in.Ref)
	if err != nil {
		return Result{}, err
	}
	switch standing {
	case kymas.Gone:
		return Result{Outcome: OutcomeGone}, nil
	case kymas.NotOurs, kymas.Copy, kymas.Skipped, kymas.Ours:
		return Result{Outcome: OutcomeOff}, nil // it is not being deleted, or not by us
	case kymas.Deleting:
	}
	if !desired.Placed(kyma) {
		// Where the Kyma is synchronized to is recorded before anything is written there.
		return Result{Outcome: OutcomeClean}, nil
	}
	left, err := a.known.AllManifests(ctx, kyma, fleet.Newest(in.Seen, shared.KindManifest))
	if err != nil {
		return Result{}, err
	}
	if len(left.Own) > 0 {
		return Result{}, fault.New(fault.Transient, ReasonManifestsRemaining,
			"Kyma %s still has %d Manifests, which need the remote cluster to be removed", in.Ref, len(left.Own))
	}
	s := desired.SyncOf(kyma, a.settings)
	r, err := a.connect(ctx, kyma, s, false)
	if fault.Of(err).Reason == ReasonOntoItself {
		return Result{Outcome: OutcomeClean}, nil
	}
	if err != nil {
		return Result{}, err
	}
	if in.Force {
		r.force = a.forcing(in.Ref)
	}
	if err := a.clean(ctx, kyma, s, r); err != nil {
		err = clusters.Classify(err)
		if forced := r.force.names(); len(forced) > 0 {
			return Result{Outcome: OutcomeDeleting, Cluster: string(r.UID), Writes: r.Writes, Forced: forced, Fault: fault.OfPersistent(err)}, nil
		}
		return Result{}, err
	}
	return Result{Outcome: OutcomeClean, Cluster: string(r.UID), Writes: r.Writes, Forced: r.force.names()}, nil
}

func (a *Activities) clean(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) error {
	there, err := catalog.Read(ctx, r, s.Namespace)
	if err != nil {
		return err
	}
	// The catalog goes, but for what was brought for other Kymas that share the namespace.
	if err := catalog.Delete(ctx, r.Cluster, there, catalog.Owner{Mark: desired.SyncedFrom(kyma), Own: r.Own}); err != nil {
		return err
	}
	if err := r.deletePullSecrets(ctx, kyma, s.Namespace); err != nil {
		return err
	}
	if err := a.clearOldPlace(ctx, kyma, s, r); err != nil {
		return err
	}
	place := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	if err := a.deleteRemoteKyma(ctx, kyma, place, kyma.Status.Remote.UID, r); err != nil {
		return err
	}
	return a.definitions.Remove(ctx, r.Cluster)
}

func (a *Activities) forcing(kyma kick.Ref) *forcing {
	return &forcing{kyma: kyma, purges: a.purges, rules: a.purgeRules}
}
