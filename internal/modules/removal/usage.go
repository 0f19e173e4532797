package removal

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// usedByOthers returns which objects Manifests of other Kymas have in the same cluster. A Manifest under deletion
// counts only if its deletion began later. So if several are deleted together, the last one removes the objects that
// they share.
func (a *Removals) usedByOthers(ctx context.Context, m *v1beta2.Manifest, cluster *clusters.Cluster) (*usage, error) {
	target, err := cluster.UID(ctx)
	if err != nil {
		return nil, clusters.Classify(fmt.Errorf("identify the cluster: %w", err))
	}
	own, err := a.steps.Options.Clusters.ControlPlane().UID(ctx)
	if err != nil {
		return nil, fmt.Errorf("identify the control plane: %w", err)
	}
	others, err := a.othersIn(ctx, m, cluster, target, target == own)
	if err != nil {
		return nil, err
	}
	used := &usage{ByID: map[string]*v1beta2.Manifest{}, byKind: map[schema.GroupKind]*v1beta2.Manifest{}}
	for _, key := range others {
		// Caches hold no inventories.
		other := &v1beta2.Manifest{}
		if err := a.steps.Options.ControlPlane.Get(ctx, key, other); err != nil {
			if apierrors.IsNotFound(err) {
				continue
			}
			return nil, fmt.Errorf("read Manifest %s: %w", key, err)
		}
		if outlives(other, m) {
			used.Manifests = append(used.Manifests, other)
		}
	}
	// Shared objects are handed over to a Manifest that stays, if there is one.
	slices.SortFunc(used.Manifests, func(a, b *v1beta2.Manifest) int {
		return cmp.Or(lists.TrueFirst(a.DeletionTimestamp.IsZero(), b.DeletionTimestamp.IsZero()),
			cmp.Compare(inventory.MarkOf(a), inventory.MarkOf(b)))
	})
	for _, other := range used.Manifests {
		used.add(other)
	}
	return used, nil
}

// outlives reports whether a Manifest will still exist after another one was removed, as far as is known.
func outlives(other, m *v1beta2.Manifest) bool {
	switch {
	case other.DeletionTimestamp.IsZero() || m.DeletionTimestamp.IsZero():
		return true
	case !other.DeletionTimestamp.Equal(m.DeletionTimestamp):
		return m.DeletionTimestamp.Before(other.DeletionTimestamp)
	}
	return inventory.MarkOf(m) < inventory.MarkOf(other)
}

func (u *usage) add(m *v1beta2.Manifest) {
	has := func(kind schema.GroupKind, id string) {
		if u.ByID[id] == nil {
			u.ByID[id] = m
		}
		if u.byKind[kind] == nil {
			u.byKind[kind] = m
		}
	}
	for _, e := range m.Status.Inventory {
		if gvk, _, err := e.Object(); err == nil && !e.Leaving {
			has(gvk.GroupKind(), e.ID)
		}
	}
	if recorded := m.Status.DefaultCR; recorded != nil {
		gvk, name := inventory.RecordedCR(recorded)
		if id, err := v1beta2.InventoryID(gvk.GroupKind(), name); err == nil {
			has(gvk.GroupKind(), id)
		}
	}
}

// user returns the Manifest that also needs an object of the inventory, because it has the same object, or objects of
// the kind that this object defines; nil if there is none.
func (u *usage) user(ctx context.Context, r *Remover, e v1beta2.InventoryEntry) (*v1beta2.Manifest, error) {
	if by := u.ByID[e.ID]; by != nil || len(u.byKind) == 0 {
		return by, nil
	}
	gvk, name, err := e.Object()
	if err != nil || gvk.GroupKind() != kinds.DefinitionKind() {
		return nil, err
	}
	kind, err := r.DefinedKind(ctx, name.Name)
	return u.byKind[kind], err
}

// usesKind reports whether another Kyma has objects of a kind, or its definition.
func (u *usage) usesKind(ctx context.Context, r *Remover, kind schema.GroupKind) (bool, error) {
	if u.byKind[kind] != nil || len(u.ByID) == 0 {
		return u.byKind[kind] != nil, nil
	}
	resource, err := r.Mapper.Resource(ctx, schema.GroupVersionKind{Group: kind.Group, Kind: kind.Kind})
	if err != nil {
		return false, kinds.IgnoreNoMatch(fmt.Errorf("look up kind %s: %w", kind, err))
	}
	definition, err := v1beta2.InventoryID(kinds.DefinitionKind(), types.NamespacedName{Name: resource.Resource + "." + kind.Group})
	return u.ByID[definition] != nil, err
}

// DefinedKind returns the kind that a definition, named <plural>.<group>, defines; empty if the cluster does not
// serve it.
func (r *Remover) DefinedKind(ctx context.Context, definition string) (schema.GroupKind, error) {
	gvk, err := objects.KindDefinedBy(ctx, r.Cluster, definition)
	if err != nil {
		return schema.GroupKind{}, kinds.IgnoreNoMatch(fmt.Errorf("look up the kind of definition %s: %w", definition, err))
	}
	return gvk.GroupKind(), nil
}

// othersIn returns the Manifests of other Kymas for a cluster.
func (a *Removals) othersIn(ctx context.Context, m *v1beta2.Manifest, cluster *clusters.Cluster, target types.UID, isControlPlane bool,
) ([]types.NamespacedName, error) {
	fleet, own := a.steps.Options.Fleet, manifests.KymaRefOf(m).UID
	var kymas v1beta2.KymaList
	if err := fleet.List(ctx, &kymas, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Kymas: %w", err)
	}
	shares := map[types.UID]bool{}
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		if remote := kyma.Status.Remote; remote == nil || remote.Cluster != string(target) || kyma.UID == own {
			continue
		}
		ok, err := a.isIn(ctx, cluster, kyma)
		if err != nil {
			return nil, err
		}
		if ok {
			shares[kyma.UID] = true
		}
	}
	if isControlPlane {
		var err error
		if isControlPlane, err = isOwn(ctx, cluster, m); err != nil {
			return nil, err
		}
	}
	if len(shares) == 0 && !isControlPlane {
		return nil, nil
	}
	var all v1beta2.ManifestList
	if err := fleet.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Manifests: %w", err)
	}
	var keys []types.NamespacedName
	for i := range all.Items {
		other := &all.Items[i]
		owner := metav1.GetControllerOf(other)
		if other.UID == m.UID || owner != nil && owner.UID == own {
			continue
		}
		if local := desired.InControlPlane(other); !local && owner != nil && shares[owner.UID] || local && isControlPlane {
			keys = append(keys, client.ObjectKeyFromObject(other))
		}
	}
	return keys, nil
}

// Kymas that share a cluster may have the same module there. Each of them applies all of it, and objects outside of a
// namespace of their own carry the mark of the last one. A Manifest that is deleted removes only objects that no
// other Manifest needs. An object that another Manifest has as well gets that Manifest's mark, so that the last
// Manifest removes it.

// usage returns the objects of others in the cluster of a Remover. They are read once.
func (a *Removals) usage(ctx context.Context, r *Remover, m *v1beta2.Manifest) (*usage, error) {
	if r.Used != nil {
		return r.Used, nil
	}
	used, err := a.usedByOthers(ctx, m, r.Cluster)
	if err != nil {
		return nil, err
	}
	r.Used = used
	return used, nil
}
