package sync

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/claim"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// CleanupRemote removes what a Kyma under deletion has in its remote cluster, in the order of
// docs/contract.md#removal: catalog, remote Kyma, definitions that we brought and nobody else uses. The namespace stays.
// Its Manifests must be gone before.
func (a *Activities) CleanupRemote(ctx context.Context, in CleanupInput) (Result, error) {
	result, err := a.cleanupRemote(ctx, in)
	return result, fault.ToTemporal(err)
}

func (a *Activities) cleanupRemote(ctx context.Context, in CleanupInput) (Result, error) {
	kyma, standing, err := claim.Look(ctx, a.controlPlane, a.settings, in.Ref)
	if err != nil {
		return Result{}, err
	}
	switch standing {
	case claim.Gone:
		return Result{Outcome: OutcomeGone}, nil
	case claim.NotOurs, claim.Copy, claim.Skipped, claim.Ours:
		return Result{Outcome: OutcomeOff}, nil // it is not being deleted, or not by us
	case claim.Deleting:
	}
	if !desired.Placed(kyma) {
		// Where the Kyma is synchronized to is recorded before anything is written there.
		return Result{Outcome: OutcomeClean}, nil
	}
	left, err := a.known.AllManifests(ctx, kyma, fleet.Newest(resolve.Seen(in.Seen), shared.KindManifest))
	if err != nil {
		return Result{}, err
	}
	if len(left.Own) > 0 {
		return Result{}, fault.New(fault.Transient, ReasonManifestsLeft,
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
			return Result{Outcome: OutcomeDeleting, Cluster: string(r.uid), Writes: r.writes, Forced: forced, Fault: fault.OfLasting(err)}, nil
		}
		return Result{}, err
	}
	return Result{Outcome: OutcomeClean, Cluster: string(r.uid), Writes: r.writes, Forced: r.force.names()}, nil
}

func (a *Activities) clean(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote) error {
	there, err := readCatalog(ctx, r, s.Namespace)
	if err != nil {
		return err
	}
	// The catalog goes, but for what was brought for other Kymas that share the namespace.
	if err := r.deleteCatalog(ctx, there, owner{mark: desired.SyncedFrom(kyma), own: r.own}); err != nil {
		return err
	}
	if err := r.deletePullSecrets(ctx, kyma, s.Namespace); err != nil {
		return err
	}
	if err := a.leaveOld(ctx, kyma, s, r); err != nil {
		return err
	}
	place := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	if err := a.deleteRemoteKyma(ctx, kyma, place, kyma.Status.Remote.UID, r); err != nil {
		return err
	}
	return a.deleteDefinitions(ctx, r)
}

// deleteDefinitions deletes the definitions that we brought, unless the cluster is the control plane itself
// or any object of ours is left in it, whoever made it.
func (a *Activities) deleteDefinitions(ctx context.Context, r *remote) error {
	if r.own {
		return nil
	}
	brought, err := listMetadata(ctx, r, definitionKind(), client.MatchingLabels{shared.LabelManagedBy: shared.ManagedByKyma})
	if err != nil {
		return err
	}
	var due []*metav1.PartialObjectMetadata
	for i := range brought {
		if brought[i].Annotations[annotationDefinitionCreated] == shared.ValueTrue && a.isOurDefinition(brought[i].Name) {
			due = append(due, &brought[i])
		}
	}
	if len(due) == 0 {
		return nil
	}
	for _, kind := range []string{shared.KindKyma, shared.KindModuleTemplate, shared.KindModuleReleaseMeta, shared.KindManifest} {
		left, err := listMetadata(ctx, r, ourKind(kind), client.Limit(1))
		if err != nil && !kindMissing(err) {
			return fmt.Errorf("see whether any %s is left: %w", kind, err)
		}
		if len(left) > 0 {
			return nil
		}
	}
	for _, definition := range due {
		if err := r.deleteObject(ctx, definition); err != nil {
			return err
		}
	}
	return nil
}

func (a *Activities) isOurDefinition(name string) bool {
	for _, d := range a.definitions {
		if d.crd.Name == name {
			return true
		}
	}
	return false
}
