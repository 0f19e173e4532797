package install

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
)

// prune removes objects that are in the inventory but no longer in the module, unless another Kyma in the same cluster
// needs them. It runs after everything has been applied. It returns the ids of entries that are known to be gone or no
// longer ours. All other entries stay in the inventory for the next reconcile.
func (a *Activities) prune(ctx context.Context, job *apply.Installation) (map[string]bool, error) {
	old := inventory.Obsolete(job.Manifest.Status.Inventory, job.Plan.Entries)
	if len(old) == 0 {
		return map[string]bool{}, nil
	}
	if len(job.Silent) > 0 {
		// The rendering may lack objects, because some APIs of the cluster did not answer. The next reconcile checks
		// again.
		a.steps.Recorder.NotPruned(job.Manifest, len(old), job.Silent)
		return map[string]bool{}, nil
	}
	if err := a.steps.Unchanged(ctx, job.Manifest); err != nil {
		return nil, err
	}
	r := removal.NewRemover(job.Manifest, job.Cluster)
	// Use the owner that the objects were applied for, even if the Manifest has taken over objects since.
	r.Owner = job.Owner
	r.KeepUserData = true
	old, err := r.WithoutSkipped(ctx, old, &job.Plan)
	if err != nil {
		return nil, err
	}
	old, stay, err := a.removals.HandOverToOthers(ctx, r, job.Manifest, old)
	if err != nil {
		return nil, err
	}
	a.steps.Recorder.KeptForOthers(job.Manifest, stay)
	defer func() { a.steps.Recorder.KeptByPolicy(job.Manifest, r.KeptByPolicy) }()
	for s := kinds.StageCount - 1; s >= 0; s-- {
		if err := r.RemoveAll(ctx, inventory.OfStage(old, s), a.applier.Options.Parallel); err != nil {
			return nil, err
		}
	}
	return r.Gone, nil
}

// recoverUpgrade handles a first installation that met existing objects of this Manifest: the inventory was lost. It
// finds the objects in the cluster that the layers no longer have, and adds them to the inventory so that they are
// pruned.
func (a *Activities) recoverUpgrade(ctx context.Context, job *apply.Installation) error {
	if !job.First || !job.Met.Load() {
		return nil
	}
	given := kinds.Usual()
	for _, e := range job.Plan.Entries {
		if gvk, _, err := e.Object(); err == nil {
			given = append(given, gvk)
		}
	}
	found, err := objects.Marked(ctx, job.Cluster, job.Owner, given)
	if err != nil {
		return clusters.Classify(err)
	}
	lost := inventory.Obsolete(found, job.Plan.Entries)
	if len(lost) == 0 {
		return nil
	}
	for i := range lost {
		lost[i].Leaving = true
	}
	return a.steps.RecordStatus(ctx, job.Manifest, func(s *v1beta2.ManifestStatus) {
		all := append(inventory.Obsolete(lost, s.Inventory), s.Inventory...)
		inventory.SetInventory(s, inventory.Record(all, nil, nil))
	})
}
