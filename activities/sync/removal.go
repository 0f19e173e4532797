package sync

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/catalog"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/kymas"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// CleanupRemote removes what a Kyma under deletion has in its remote cluster, in the order of
// docs/contract.md#removal: what upstream's agent has, catalog, remote Kyma, definitions that we brought and nobody else uses. The namespace stays.
// Its Manifests must be gone before.
func (a *Activities) CleanupRemote(ctx context.Context, in CleanupInput) (Result, error) {
	kyma, ownership, err := kymas.Read(ctx, a.ControlPlane, a.Settings, in.Ref)
	if err != nil {
		return Result{}, err
	}
	switch ownership {
	case kymas.Gone:
		return Result{Outcome: OutcomeGone}, nil
	case kymas.NotOurs, kymas.Copy, kymas.Skipped, kymas.Ours:
		return Result{Outcome: OutcomeOff}, nil // it is not being deleted, or not by us
	case kymas.Deleting:
	}
	s, placed := desired.SyncOf(kyma, a.Settings), desired.Placed(kyma)
	if !placed && (!agents.IsLeft(kyma) || !s.Enabled) {
		// Where the Kyma is synchronized to is recorded before anything is written there.
		return Result{Outcome: OutcomeClean}, nil
	}
	left, err := a.Known.AllManifests(ctx, kyma, in.Seen)
	if err != nil {
		return Result{}, err
	}
	if len(left.Own) > 0 {
		return Result{}, manifestsRemaining(in.Ref, len(left.Own))
	}
	r, err := a.connect(ctx, kyma, s, false)
	if fault.Of(err).Reason == ReasonOntoItself {
		return Result{Outcome: OutcomeClean}, nil
	}
	if err != nil {
		return Result{}, err
	}
	if !placed && r.Own {
		// Upstream never has its own cluster as a remote one.
		return Result{Outcome: OutcomeClean}, nil
	}
	if !placed {
		if err := a.placeUpstreams(ctx, kyma, s, r); err != nil {
			return Result{}, clusters.Classify(err)
		}
	}
	return a.cleanOrForce(ctx, kyma, s, r, in)
}

// placeUpstreams finds out where upstream has what it wrote for a Kyma that was deleted before we synchronized it: that was
// never recorded, but upstream has it where we would.
func (a *Activities) placeUpstreams(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) error {
	if err := a.checkNotOwned(ctx, kyma, s, r); err != nil {
		return err
	}
	found := remote.MetadataOf(remote.Kind(shared.KindKyma))
	place := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	if err := r.Get(ctx, place, found); err != nil && !apierrors.IsNotFound(err) && !remote.KindMissing(err) {
		return fmt.Errorf("read remote Kyma %s: %w", place, err)
	}
	// In memory alone: what is recorded of a Kyma is that we have synchronized it.
	kyma.Status.Remote = &v1beta2.RemoteStatus{
		Name: s.Name, Namespace: s.Namespace, Generation: s.Generation, Cluster: string(r.UID), UID: string(found.UID),
	}
	return nil
}

func manifestsRemaining(kyma kick.Ref, count int) error {
	return fault.New(fault.Transient, ReasonManifestsRemaining,
		"Kyma %s still has %d Manifests, which need the remote cluster to be removed", kyma, count)
}

// cleanOrForce removes what is in the remote cluster, by force where the Kyma is purged.
func (a *Activities) cleanOrForce(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session, in CleanupInput) (Result, error) {
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
	if err := a.removeAgent(ctx, kyma, s, r); err != nil {
		return err
	}
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
	return &forcing{kyma: kyma, purges: a.Purges, rules: a.PurgeRules}
}
