package objects

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// Marked returns the objects in a cluster that carry our mark, with one request per kind. It searches the given kinds
// and the kinds that the found definitions define. It skips objects with a controller, because they have copied
// annotations: a ReplicaSet has those of its Deployment.
func Marked(ctx context.Context, c *clusters.Cluster, owner inventory.Owner, given []schema.GroupVersionKind) ([]v1beta2.InventoryEntry, error) {
	byID := map[string]v1beta2.InventoryEntry{}
	seen := map[schema.GroupKind]bool{}
	collect := func(gvk schema.GroupVersionKind) error {
		if seen[gvk.GroupKind()] {
			return nil
		}
		seen[gvk.GroupKind()] = true
		resource, err := kinds.Mapper{Cluster: c.Mapper.Confirmed()}.Served(ctx, gvk)
		if err != nil {
			return kinds.IgnoreNoMatch(fmt.Errorf("look up kind %s: %w", gvk.Kind, err))
		}
		gvk.Version = resource.Version
		return MetadataOf(ctx, c, resource, owner.Selector(), func(live *metav1.PartialObjectMetadata) {
			entry, err := v1beta2.NewInventoryEntry(gvk, types.NamespacedName{Namespace: live.Namespace, Name: live.Name})
			if err != nil || !owner.Owns(live) || metav1.GetControllerOf(live) != nil {
				return
			}
			entry.UID = string(live.UID)
			byID[entry.ID] = entry
		})
	}
	for _, gvk := range given {
		if err := collect(gvk); err != nil {
			return nil, err
		}
	}
	for _, e := range inventory.Sorted(byID) {
		gvk, name, err := e.Object()
		if err != nil || !kinds.ExistenceOnly(gvk) {
			continue
		}
		defined, err := KindDefinedBy(ctx, c, name.Name)
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
