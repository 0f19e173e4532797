package removal

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/bundle"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/inventory"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// RecoverRemoval finds what a Manifest without an inventory has in its cluster, before it is removed: it may have been
// restored from a backup, which has no status. A cluster that cannot be reached, and of which nothing is known, blocks
// no removal.
func (a *Removals) RecoverRemoval(ctx context.Context, m *v1beta2.Manifest) error {
	cluster, err := a.steps.Target(ctx, m)
	if err == nil {
		var found []v1beta2.InventoryEntry
		found, err = Marked(ctx, cluster, inventory.OwnerOf(m), nil)
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

// recordLost writes what was found in the cluster into the status, as if it had never been lost.
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

// intended is the record of a default custom resource that may have been created; see inventory.IsRecorded.
func (a *Removals) intended(ctx context.Context, c *clusters.Cluster, m *v1beta2.Manifest) (*v1beta2.DefaultCRRecord, error) {
	wanted, err := readiness.DefaultCROf(m)
	if err != nil || wanted == nil {
		return nil, err
	}
	resource, err := c.Mapper.Resource(ctx, wanted.GroupVersionKind())
	if meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // without its kind there is none
	}
	if err != nil {
		return nil, clusters.Classify(err)
	}
	bundle.Place(wanted, resource, a.steps.RemoteNamespace(m))
	return inventory.RecordOf(wanted, ""), nil
}

// Marked finds the objects in a cluster that carry our mark, with one request per kind: of the usual kinds of modules,
// of the given kinds, and of those that the found definitions define. An object that another one controls is skipped:
// it has copied annotations, as a ReplicaSet has those of its Deployment.
func Marked(ctx context.Context, c *clusters.Cluster, owner inventory.Owner, given []schema.GroupVersionKind) ([]v1beta2.InventoryEntry, error) {
	byID := map[string]v1beta2.InventoryEntry{}
	seen := map[schema.GroupKind]bool{}
	collect := func(gvk schema.GroupVersionKind) error {
		if seen[gvk.GroupKind()] {
			return nil
		}
		seen[gvk.GroupKind()] = true
		resource, err := c.Mapper.Resource(ctx, gvk)
		if meta.IsNoMatchError(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look up kind %s: %w", gvk.Kind, err)
		}
		return objects.MetadataOf(ctx, c, resource, owner.Selector(), func(live *metav1.PartialObjectMetadata) {
			entry, err := v1beta2.NewInventoryEntry(gvk, types.NamespacedName{Namespace: live.Namespace, Name: live.Name})
			if err != nil || !owner.Owns(live) || metav1.GetControllerOf(live) != nil {
				return
			}
			entry.UID = string(live.UID)
			byID[entry.ID] = entry
		})
	}
	for _, gvk := range append(kinds.Usual(), given...) {
		if err := collect(gvk); err != nil {
			return nil, err
		}
	}
	for _, e := range inventory.Sorted(byID) {
		gvk, name, err := e.Object()
		if err != nil || !kinds.ExistenceOnly(gvk) {
			continue
		}
		defined, err := objects.KindDefinedBy(ctx, c, name.Name)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err == nil {
			err = collect(defined)
		}
		if err != nil {
			return nil, err
		}
	}
	return inventory.Sorted(byID), nil
}
