package install

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/activities/apply"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/inventory"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

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
