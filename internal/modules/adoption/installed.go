package adoption

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// installed returns the objects in the cluster that upstream installed for a Manifest: the objects listed in its
// status, and the objects with its mark, because upstream lists a version's objects only after it applied them.
// Missing objects and objects with another Manifest's mark are left out.
func installed(ctx context.Context, c *clusters.Cluster, m *v1beta2.Manifest) ([]v1beta2.InventoryEntry, error) {
	owner := inventory.OwnerOf(m)
	given := make([]schema.GroupVersionKind, 0, len(m.Status.Synced))
	for _, o := range m.Status.Synced {
		given = append(given, schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind})
	}
	if !listedAll(m) {
		given = append(given, kinds.Usual()...)
	}
	marked, err := objects.Marked(ctx, c, owner, given)
	if err != nil {
		return nil, err
	}
	byID := lists.By(marked, func(e v1beta2.InventoryEntry) string { return e.ID })
	for _, o := range m.Status.Synced {
		entry, live, err := read(ctx, c, o, byID)
		if err != nil {
			return nil, err
		}
		if live == nil || inventory.MarkOn(live) != "" && !owner.Owns(live) || metav1.GetControllerOf(live) != nil {
			continue
		}
		entry.UID = string(live.UID)
		byID[entry.ID] = entry
	}
	return inventory.Sorted(byID), nil
}

// listedAll reports whether upstream's list is complete, because no installation, upgrade or removal was in progress.
func listedAll(m *v1beta2.Manifest) bool {
	settled := m.Status.State == shared.StateReady || m.Status.State == shared.StateWarning
	return settled && m.DeletionTimestamp.IsZero() && installedRef(m) == inventory.LayersRef(m)
}

// read returns an object that upstream listed, unless it is already known. The returned metadata is nil if the object
// does not exist or the cluster serves no version of its kind.
func read(
	ctx context.Context, c *clusters.Cluster, o v1beta2.SyncedObject, known map[string]v1beta2.InventoryEntry,
) (v1beta2.InventoryEntry, *metav1.PartialObjectMetadata, error) {
	gvk := schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind}
	resource, err := kinds.Mapper{Cluster: c.Mapper}.Served(ctx, gvk)
	gvk.Version = cmp.Or(resource.Version, gvk.Version)
	if err != nil {
		return v1beta2.InventoryEntry{}, nil, kinds.IgnoreNoMatch(fmt.Errorf("look up kind %s: %w", o.Kind, err))
	}
	// Upstream uses this namespace for objects that name none.
	name := types.NamespacedName{Name: o.Name, Namespace: objects.NamespaceOf(resource, o.Namespace, metav1.NamespaceDefault)}
	entry, err := v1beta2.NewInventoryEntry(gvk, name)
	if err != nil {
		return entry, nil, fmt.Errorf("record %s: %w", objects.Describe(o.Kind, name), err)
	}
	if _, there := known[entry.ID]; there {
		return entry, nil, nil
	}
	live, err := c.Metadata.Resource(resource.GroupVersionResource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return entry, nil, client.IgnoreNotFound(fmt.Errorf("read %s: %w", objects.Describe(o.Kind, name), err))
	}
	return entry, live, nil
}
