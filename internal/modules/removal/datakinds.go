package removal

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/model/reserved"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// dataKinds returns the kinds whose users' objects block a removal: the default custom resource's kind, and the kinds
// that the module's template names. If the template names none, these are all kinds that the module defines. They are
// read once.
func (r *Remover) dataKinds(ctx context.Context, m *v1beta2.Manifest) ([]dataKind, error) {
	if r.data != nil {
		return r.data, nil
	}
	all := []dataKind{}
	known := map[schema.GroupKind]bool{}
	add := func(group string, is func(plural, kind string) bool) error {
		served, err := r.groups.served(ctx, r.Cluster, group)
		if err != nil {
			return err
		}
		for plural, of := range served {
			kind := dataKind{GroupKind: schema.GroupKind{Group: group, Kind: of.Kind}, resources: resourcesOf(group, plural, of)}
			// Lifecycle Manager's own objects belong to no module, even if they are in an inventory.
			if !is(plural, of.Kind) || known[kind.GroupKind] || reserved.Object(kind.GroupKind, types.NamespacedName{}) != "" {
				continue
			}
			known[kind.GroupKind] = true
			all = append(all, kind)
		}
		return nil
	}
	named := associatedKinds(m)
	for _, kind := range named {
		if err := add(kind.Group, func(_, of string) bool { return of == kind.Kind }); err != nil {
			return nil, err
		}
	}
	if gvk, ok := crKind(m); ok {
		if err := add(gvk.Group, func(_, of string) bool { return of == gvk.Kind }); err != nil {
			return nil, err
		}
	}
	if len(named) == 0 {
		definitions, err := r.ownDefinitions(ctx, m.Status.Inventory)
		if err != nil {
			return nil, err
		}
		for _, definition := range definitions {
			defined := kinds.ResourceOfDefinition(definition)
			if err := add(defined.Group, func(plural, _ string) bool { return plural == defined.Resource }); err != nil {
				return nil, err
			}
		}
	}
	r.data = all
	return all, nil
}

// associatedKinds returns the custom kinds that the module's template names. Built-in kinds are left out, because
// they stay when the module is removed.
func associatedKinds(m *v1beta2.Manifest) []schema.GroupKind {
	return lists.Filter(desired.AssociatedKinds(m), func(kind schema.GroupKind) bool {
		return kind.Group != "" && !kinds.IsBuiltIn(kind)
	})
}

// ownDefinitions returns the names of definitions in the inventory that exist and carry our mark. They are deleted
// with the module.
func (r *Remover) ownDefinitions(ctx context.Context, entries []v1beta2.InventoryEntry) ([]string, error) {
	var wanted []types.NamespacedName
	var kind schema.GroupVersionKind
	for _, e := range inventory.OfStage(entries, kinds.StageDefinitions) {
		if gvk, name, err := e.Object(); err == nil && kinds.ExistenceOnly(gvk) {
			kind, wanted = gvk, append(wanted, name)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	resource, err := r.Mapper.Resource(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("look up kind %s: %w", kind.Kind, err)
	}
	listed := map[string]bool{}
	if err := objects.MetadataOf(ctx, r.Cluster, resource, r.Owner.Selector(), func(live *metav1.PartialObjectMetadata) {
		listed[live.Name] = r.Owner.Owns(live)
	}); err != nil {
		return nil, err
	}
	var all []string
	for _, name := range wanted {
		ours, there := listed[name.Name]
		if !there {
			// The definition may have lost the label that the LIST selects.
			live, _, err := r.Live(ctx, kind, name)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", objects.Describe(kind.Kind, name), err)
			}
			ours = live != nil && r.Owner.Owns(live)
		}
		if ours {
			all = append(all, name.Name)
		}
	}
	return all, nil
}

// moduleObjects identifies the module's own objects among those of its kinds. All others are its users'.
type moduleObjects struct {
	owner inventory.Owner
	uids  map[types.UID]bool
	// defaultKind is the kind of the default custom resource if we have to delete it.
	defaultKind schema.GroupKind
	defaultCR   *v1beta2.DefaultCRRecord
}

func (r *Remover) objectsOf(m *v1beta2.Manifest) moduleObjects {
	own := moduleObjects{owner: r.Owner, uids: map[types.UID]bool{}}
	for _, e := range m.Status.Inventory {
		if e.UID != "" {
			own.uids[types.UID(e.UID)] = true
		}
	}
	if recorded := m.Status.DefaultCR; recorded != nil && m.Spec.EffectivePolicy() == v1beta2.CustomResourcePolicyCreateAndDelete {
		gvk, _ := inventory.RecordedCR(recorded)
		own.defaultKind, own.defaultCR = gvk.GroupKind(), recorded
		if recorded.UID != "" {
			own.uids[types.UID(recorded.UID)] = true
		}
	}
	return own
}

// owns reports whether an object is the module's own: it was installed with the module, or one of the module's
// objects owns it. An object with another controller also counts as the module's, because its controller counts
// instead.
func (o moduleObjects) owns(cr *metav1.PartialObjectMetadata) bool {
	if o.owner.Owns(cr) || o.uids[cr.UID] {
		return true
	}
	return slices.ContainsFunc(cr.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return o.uids[ref.UID] || ref.Controller != nil && *ref.Controller
	})
}

// eachCR calls visit for the objects of a kind in all namespaces, page by page, until enough returns true.
func (r *Remover) eachCR(ctx context.Context, resource schema.GroupVersionResource, visit func(*metav1.PartialObjectMetadata), enough func() bool) error {
	return objects.IgnoreUnserved(objects.Pages(metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		page, err := r.Cluster.Metadata.Resource(resource).List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if enough() {
			return "", nil
		}
		return page.Continue, nil
	}))
}

// crKind returns the kind of the default custom resource: the recorded kind if one was created, otherwise the kind in
// the Manifest.
func crKind(m *v1beta2.Manifest) (schema.GroupVersionKind, bool) {
	if recorded := m.Status.DefaultCR; recorded != nil {
		gvk, name := inventory.RecordedCR(recorded)
		return gvk, !kinds.IsProtected(gvk, name)
	}
	// A resource that cannot be read cannot have been created, and its kind is unknown.
	cr, err := m.Spec.DefaultCR()
	if err != nil || cr == nil {
		return schema.GroupVersionKind{}, false
	}
	return cr.GroupVersionKind(), true
}
