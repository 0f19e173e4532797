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

// CleanupRemote removes the objects of a Kyma under deletion from its remote cluster, in the order of
// docs/contract.md#removal: upstream's agent, the catalog, the remote Kyma, and the CRDs that we created and nobody else
// uses. The namespace stays. The Kyma's Manifests must be gone before.
func (a *Activities) CleanupRemote(ctx context.Context, in CleanupInput) (Result, error) {
	kyma, ownership, err := kymas.Read(ctx, a.ControlPlane, a.Settings, in.Ref)
	if err != nil {
		return Result{}, err
	}
	switch ownership {
	case kymas.Gone:
		return Result{Outcome: OutcomeGone}, nil
	case kymas.NotOurs, kymas.Copy, kymas.Skipped, kymas.Ours:
		return Result{Outcome: OutcomeOff}, nil // the Kyma is not being deleted, or not by us
	case kymas.Deleting:
	}
	s, placed := desired.SyncOf(kyma, a.Settings), desired.Placed(kyma)
	if !placed && (!agents.IsLeft(kyma) || !s.Enabled) {
		// The place is recorded before anything is written there, so nothing was written.
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
		// Upstream never uses its own cluster as a remote cluster.
		return Result{Outcome: OutcomeClean}, nil
	}
	if !placed {
		if err := a.placeUpstreams(ctx, kyma, s, r); err != nil {
			return Result{}, clusters.Classify(err)
		}
	}
	return a.cleanOrForce(ctx, kyma, s, r, in)
}

// placeUpstreams finds out where upstream wrote its objects for a Kyma that was deleted before we synchronized it.
// Upstream recorded no place, but uses the same one as we would.
func (a *Activities) placeUpstreams(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) error {
	if err := a.checkNotOwned(ctx, kyma, s, r); err != nil {
		return err
	}
	found := remote.MetadataOf(remote.Kind(shared.KindKyma))
	place := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	if err := r.Get(ctx, place, found); err != nil && !apierrors.IsNotFound(err) && !remote.KindMissing(err) {
		return fmt.Errorf("read remote Kyma %s: %w", place, err)
	}
	// Set in memory only, because a record in the status would mean that we have synchronized the Kyma.
	kyma.Status.Remote = &v1beta2.RemoteStatus{
		Name: s.Name, Namespace: s.Namespace, Generation: s.Generation, Cluster: string(r.UID), UID: string(found.UID),
	}
	return nil
}

func manifestsRemaining(kyma kick.Ref, count int) error {
	return fault.New(fault.Transient, ReasonManifestsRemaining,
		"Kyma %s still has %d Manifests, which must be removed before the remote cluster is cleaned up", kyma, count)
}

// cleanOrForce removes a Kyma's objects from the remote cluster. It forces their removal if the Kyma is purged.
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
	// The catalog is deleted, except for the objects of other Kymas that share the namespace.
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
