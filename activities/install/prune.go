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

// prune removes, after everything was applied, what the inventory has and the module no longer, and no other Kyma in
// the same cluster needs. It returns the ids of entries that are known to be gone, or no longer ours; the others stay
// in the inventory for the next reconcile.
func (a *Activities) prune(ctx context.Context, job *apply.Installation) (map[string]bool, error) {
	old := inventory.Obsolete(job.Manifest.Status.Inventory, job.Plan.Entries)
	if len(old) == 0 {
		return map[string]bool{}, nil
	}
	if len(job.Silent) > 0 {
		// What is no longer rendered may only be missing because of that. The next reconcile checks it again.
		a.steps.Recorder.NotPruned(job.Manifest, len(old), job.Silent)
		return map[string]bool{}, nil
	}
	if err := a.steps.Unchanged(ctx, job.Manifest); err != nil {
		return nil, err
	}
	r := removal.NewRemover(job.Manifest, job.Cluster)
	// The owner for whom the objects were applied, whatever the Manifest has taken over since.
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

// recoverUpgrade finds what a Manifest has in its cluster that its layers no longer have, when its first installation
// met existing objects: then it is no first installation, but the inventory is lost. What is found is pruned as if it
// had been in the inventory.
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
