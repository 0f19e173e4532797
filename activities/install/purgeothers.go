package install

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// usage is what Manifests of other Kymas have in the same cluster.
type usage struct {
	// ids are those of objects in their inventories, kinds those of the objects and of their default custom resources.
	ids   map[string]bool
	kinds map[schema.GroupKind]bool
}

// usedByOthers says what Manifests of other Kymas have in the same cluster.
func (p *purger) usedByOthers(ctx context.Context, cluster *clusters.Cluster) (*usage, error) {
	a := p.activities
	target, err := clusterUID(ctx, cluster.Client)
	if err != nil {
		return nil, fmt.Errorf("identify the cluster: %w", err)
	}
	own, err := clusterUID(ctx, a.options.ControlPlane)
	if err != nil {
		return nil, fmt.Errorf("identify the control plane: %w", err)
	}
	others, err := p.othersIn(ctx, target, target == own)
	if err != nil {
		return nil, err
	}
	used := &usage{ids: map[string]bool{}, kinds: map[schema.GroupKind]bool{}}
	for _, key := range others {
		// Caches hold no inventories.
		other := &v1beta2.Manifest{}
		if err := a.options.ControlPlane.Get(ctx, key, other); err != nil {
			if apierrors.IsNotFound(err) {
				continue
			}
			return nil, fmt.Errorf("read Manifest %s: %w", key, err)
		}
		used.add(other)
	}
	return used, nil
}

func (u *usage) add(m *v1beta2.Manifest) {
	for _, e := range m.Status.Inventory {
		gvk, _, err := e.Object()
		if e.Leaving || err != nil {
			continue
		}
		u.ids[e.ID], u.kinds[gvk.GroupKind()] = true, true
	}
	if recorded := m.Status.DefaultCR; recorded != nil {
		gvk, _ := recordedCR(recorded)
		u.kinds[gvk.GroupKind()] = true
	}
}

// ownEntries are the entries of the inventory that no Manifest of another Kyma needs: neither has it the same object,
// nor objects of the kind that one defines.
func (p *purger) ownEntries(ctx context.Context, r *remover, used *usage) ([]v1beta2.InventoryEntry, error) {
	var own []v1beta2.InventoryEntry
	for _, e := range p.manifest.Status.Inventory {
		gvk, name, err := e.Object()
		if err != nil {
			continue
		}
		needed := used.ids[e.ID]
		if !needed && len(used.kinds) > 0 && gvk.GroupKind() == definitionKind() {
			kind, err := r.definedKind(ctx, name.Name)
			if err != nil {
				return nil, err
			}
			needed = used.kinds[kind]
		}
		if needed {
			p.stay(describe(gvk.Kind, name) + " is used by another Kyma")
			continue
		}
		own = append(own, e)
	}
	return own, nil
}

func definitionKind() schema.GroupKind {
	return schema.GroupKind{Group: groupExtensions, Kind: kindDefinition}
}

// definedKind is the kind that a definition, named <plural>.<group>, defines; empty when nobody serves it.
func (r *remover) definedKind(ctx context.Context, definition string) (schema.GroupKind, error) {
	plural, group, _ := strings.Cut(definition, ".")
	gvk, err := r.cluster.Mapper.Kind(ctx, schema.GroupVersionResource{Group: group, Resource: plural})
	if meta.IsNoMatchError(err) {
		return schema.GroupKind{}, nil
	}
	if err != nil {
		return schema.GroupKind{}, fmt.Errorf("look up the kind of definition %s: %w", definition, err)
	}
	return gvk.GroupKind(), nil
}

// othersIn finds the Manifests of other Kymas that are for a cluster.
func (p *purger) othersIn(ctx context.Context, cluster types.UID, isControlPlane bool) ([]types.NamespacedName, error) {
	fleet := p.activities.options.Fleet
	var kymas v1beta2.KymaList
	if err := fleet.List(ctx, &kymas); err != nil {
		return nil, fmt.Errorf("list Kymas: %w", err)
	}
	shares := map[types.UID]bool{}
	for i := range kymas.Items {
		if remote := kymas.Items[i].Status.Remote; remote != nil && remote.Cluster == string(cluster) {
			shares[kymas.Items[i].UID] = true
		}
	}
	delete(shares, p.kyma.UID)
	if len(shares) == 0 && !isControlPlane {
		return nil, nil
	}
	var manifests v1beta2.ManifestList
	if err := fleet.List(ctx, &manifests); err != nil {
		return nil, fmt.Errorf("list Manifests: %w", err)
	}
	var keys []types.NamespacedName
	for i := range manifests.Items {
		m := &manifests.Items[i]
		owner := metav1.GetControllerOf(m)
		if m.UID == p.manifest.UID || owner != nil && owner.UID == p.kyma.UID {
			continue
		}
		if m.Spec.Remote && owner != nil && shares[owner.UID] || !m.Spec.Remote && isControlPlane {
			keys = append(keys, client.ObjectKeyFromObject(m))
		}
	}
	return keys, nil
}

// clusterUID identifies a cluster: the uid of its namespace kube-system.
func clusterUID(ctx context.Context, c client.Reader) (types.UID, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindNamespace))
	if err := c.Get(ctx, types.NamespacedName{Name: shared.NamespaceKubeSystem}, namespace); err != nil {
		return "", err
	}
	return namespace.UID, nil
}
