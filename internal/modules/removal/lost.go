package removal

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// RecoverRemoval finds the objects of a Manifest without an inventory before the Manifest is removed. Such a Manifest
// may come from a backup, which has no status. If its cluster cannot be reached, the Manifest is released, because
// nothing is known that had to be removed.
func (a *Removals) RecoverRemoval(ctx context.Context, m *v1beta2.Manifest) error {
	cluster, err := a.steps.Target(ctx, m)
	if err == nil {
		var found []v1beta2.InventoryEntry
		found, err = objects.Marked(ctx, cluster, inventory.OwnerOf(m), kinds.Usual())
		if err == nil {
			return a.recordLost(ctx, cluster, m, found)
		}
	}
	f := fault.Of(clusters.Classify(err))
	if f.Kind == fault.Unreachable || f.Kind == fault.Rejected && f.Reason != clusters.ReasonClusterChanged {
		a.steps.Recorder.ReleasedWithoutCluster(m, f)
		return nil
	}
	return clusters.Classify(err)
}

// recordLost writes the objects that were found in the cluster into the status, as if the status had never been lost.
func (a *Removals) recordLost(ctx context.Context, c *clusters.Cluster, m *v1beta2.Manifest, found []v1beta2.InventoryEntry) error {
	if len(found) == 0 {
		return nil
	}
	intended, err := a.intended(ctx, c, m)
	if err != nil {
		return err
	}
	return a.steps.RecordStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		inventory.SetInventory(s, found)
		if s.DefaultCR == nil {
			s.DefaultCR = intended
		}
	})
}

// intended returns the record of a default custom resource that may have been created; see inventory.IsRecorded.
func (a *Removals) intended(ctx context.Context, c *clusters.Cluster, m *v1beta2.Manifest) (*v1beta2.DefaultCRRecord, error) {
	wanted, err := readiness.DefaultCROf(m)
	if err != nil || wanted == nil {
		return nil, err
	}
	resource, err := kinds.Mapper{Cluster: c.Mapper.Confirmed()}.Served(ctx, wanted.GroupVersionKind())
	if err != nil {
		return nil, kinds.IgnoreNoMatch(clusters.Classify(err))
	}
	bundle.Place(wanted, resource, a.steps.RemoteNamespace(m))
	return inventory.RecordOf(wanted, ""), nil
}
