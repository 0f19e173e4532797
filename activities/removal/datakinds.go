package removal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/inventory"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/activities/reserved"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// A definition takes all objects of its kind along when it goes, and whoever made them loses them. So no definition goes
// while there are objects that the module did not make.

// dataKind is a kind whose objects may be data of a module's users.
type dataKind struct {
	schema.GroupKind
	// resources are how to address it: in the version in which it is stored first, which needs no conversion.
	resources []clusters.Resource
}

// dataKinds are the kinds of which users' objects hold up a removal: that of the default custom resource, and those that
// the module's template names, or where it names none, all that the module defines. They are read once.
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
			// What is Lifecycle Manager's own is no module's, whoever put it into an inventory.
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

// associatedKinds are the custom kinds that the module's template names. What Kubernetes itself defines stays when the
// module goes.
func associatedKinds(m *v1beta2.Manifest) []schema.GroupKind {
	var all []schema.GroupKind
	for _, kind := range desired.AssociatedKinds(m) {
		if kind.Group != "" && !kinds.IsBuiltIn(kind) {
			all = append(all, kind)
		}
	}
	return all
}

// ownDefinitions names the definitions of the inventory that are there and carry our mark: those that go with the module.
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
			// It may have lost the label by which it is listed.
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

// servedGroups are what a cluster serves, by group, each read once.
type servedGroups map[string]map[string]clusters.Served

func (g *servedGroups) served(ctx context.Context, c *clusters.Cluster, group string) (map[string]clusters.Served, error) {
	if known, ok := (*g)[group]; ok {
		return known, nil
	}
	served, err := c.Mapper.Served(ctx, group)
	if err != nil {
		return nil, err
	}
	if *g == nil {
		*g = servedGroups{}
	}
	(*g)[group] = served
	return served, nil
}

// stored are the ways to address a kind, in the version in which it is stored first, where it is of a group that was
// read.
func (g servedGroups) stored(kind schema.GroupKind) []clusters.Resource {
	for plural, of := range g[kind.Group] {
		if of.Kind == kind.Kind {
			return resourcesOf(kind.Group, plural, of)
		}
	}
	return nil
}

func resourcesOf(group, plural string, of clusters.Served) []clusters.Resource {
	all := make([]clusters.Resource, 0, len(of.Versions))
	for _, version := range of.Versions {
		gvr := schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
		all = append(all, clusters.Resource{GroupVersionResource: gvr, Namespaced: of.Namespaced})
	}
	return all
}

// failedInside tells whether an API server could not do what it was asked for, as where it has to convert an object and
// the webhook that does it is dead. Objects that it lists from its cache it then answers 429 for, since it cannot fill
// that cache (k8s.io/apiserver, cacher.ready).
func failedInside(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return s.Code == http.StatusInternalServerError ||
		s.Code == http.StatusTooManyRequests && strings.Contains(s.Message, "storage is (re)initializing")
}

// moduleObjects are what a module itself has: what of its kinds is not its users'.
type moduleObjects struct {
	owner inventory.Owner
	uids  map[types.UID]bool
	// defaultCR is the default custom resource, where that is ours to delete.
	defaultKind schema.GroupKind
	defaultCR   *v1beta2.DefaultCRRecord
}

func (r *Remover) objectsOf(m *v1beta2.Manifest) moduleObjects {
	objects := moduleObjects{owner: r.Owner, uids: map[types.UID]bool{}}
	for _, e := range m.Status.Inventory {
		if e.UID != "" {
			objects.uids[types.UID(e.UID)] = true
		}
	}
	if recorded := m.Status.DefaultCR; recorded != nil && m.Spec.EffectivePolicy() == v1beta2.CustomResourcePolicyCreateAndDelete {
		gvk, _ := inventory.RecordedCR(recorded)
		objects.defaultKind, objects.defaultCR = gvk.GroupKind(), recorded
		if recorded.UID != "" {
			objects.uids[types.UID(recorded.UID)] = true
		}
	}
	return objects
}

// have tells whether an object is the module's own: it came with the module, one of the module's objects owns it, or
// another object controls it, which is what counts then.
func (o moduleObjects) have(cr *metav1.PartialObjectMetadata) bool {
	if o.owner.Owns(cr) || o.uids[cr.UID] {
		return true
	}
	for _, ref := range cr.OwnerReferences {
		if o.uids[ref.UID] || ref.Controller != nil && *ref.Controller {
			return true
		}
	}
	return false
}

// eachCR shows, in all namespaces, the objects of a kind, until it has shown all or enough says so.
func (r *Remover) eachCR(ctx context.Context, resource schema.GroupVersionResource, show func(*metav1.PartialObjectMetadata), enough func() bool) error {
	return objects.IgnoreUnserved(objects.Pages(metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		page, err := r.Cluster.Metadata.Resource(resource).List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			show(&page.Items[i])
		}
		if enough() {
			return "", nil
		}
		return page.Continue, nil
	}))
}
