package removal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// Remover removes objects of the inventory from a cluster, each only when it carries our mark, and with its
// uid as a precondition.
type Remover struct {
	objects.Target
	// KeepUserData keeps definitions that have objects, and namespaces: they are deleted only with the module.
	KeepUserData bool
	// OtherModules are the other modules in the same cluster: a namespace that one of them uses stays.
	OtherModules []*v1beta2.Manifest
	// Used is what other Kymas have in the cluster, once that was read.
	Used *usage
	// data are the kinds whose users' objects block the removal, once they were read; allowed is whether the loss of these
	// objects is allowed, once that was read; groups is what the cluster serves of their groups.
	data    []dataKind
	allowed *bool
	groups  servedGroups
	// namespaceKinds are the kinds whose objects show that a namespace is in use.
	namespaceKinds namespaceKinds

	mu sync.Mutex
	// Gone are the ids of entries that no longer have to be removed.
	Gone map[string]bool
	// RemainingObjects are the objects that still exist, as "Kind namespace/name".
	RemainingObjects []string
	// Kept are the namespaces that stay because others use them, each with what shows that.
	Kept []string
	// KeptByPolicy are the objects that stay because they carry Helm's annotation for it, as "Kind namespace/name", in order.
	KeptByPolicy []string
	// Deleted counts the objects whose deletion was accepted.
	Deleted int
}

// NewRemover returns a remover that has read nothing yet.
func NewRemover(m *v1beta2.Manifest, c *clusters.Cluster) *Remover {
	r := &Remover{Target: objects.NewTarget(m, c, nil), Gone: map[string]bool{}}
	r.Mapper.Cluster = c.Mapper.Confirmed()
	return r
}

// WithoutSkipped returns the entries without those whose kind was not known when optional objects of it were skipped,
// and is known now: they are still wanted, and the next reconcile applies them. Objects of a kind that is still unknown
// were deleted with it.
func (r *Remover) WithoutSkipped(ctx context.Context, old []v1beta2.InventoryEntry, p *bundle.Plan) ([]v1beta2.InventoryEntry, error) {
	var all []v1beta2.InventoryEntry
	for _, e := range old {
		if gvk, name, err := e.Object(); err == nil && p.Skips(gvk.GroupKind()) {
			_, err = r.resource(ctx, gvk)
			if err == nil {
				continue
			}
			if !meta.IsNoMatchError(err) {
				return nil, clusters.Classify(fmt.Errorf("look up the kind of %s: %w", objects.Describe(gvk.Kind, name), err))
			}
		}
		all = append(all, e)
	}
	return all, nil
}

func (r *Remover) note(e v1beta2.InventoryEntry, there bool) {
	gvk, name, _ := e.Object()
	r.mu.Lock()
	defer r.mu.Unlock()
	if there {
		r.RemainingObjects = append(r.RemainingObjects, objects.Describe(gvk.Kind, name))
		return
	}
	r.Gone[e.ID] = true
}

// resource is how to address a kind: where the version that it was applied with is no longer served, another one may
// be. A kind that the module defines is addressed in the version in which it is stored, in which the API server answers
// even when the conversion webhook is down.
func (r *Remover) resource(ctx context.Context, gvk schema.GroupVersionKind) (kinds.Resource, error) {
	all, err := r.resources(ctx, gvk)
	if err != nil {
		return kinds.Resource{}, err
	}
	return all[0], nil
}

// resources are all ways to address a kind, the best one first. An object may have been stored before its kind's stored
// version was changed; without the conversion webhook, the API server can return it in that older version only.
func (r *Remover) resources(ctx context.Context, gvk schema.GroupVersionKind) ([]kinds.Resource, error) {
	if stored := r.groups.stored(gvk.GroupKind()); len(stored) > 0 {
		return stored, nil
	}
	resource, err := r.Mapper.Served(ctx, gvk)
	return []kinds.Resource{resource}, err
}

// inOneOf tries one version after the other until the API server can answer, and returns the one in which it did. The
// error is that of the first one.
func inOneOf(resources []kinds.Resource, ask func(kinds.Resource) error) (kinds.Resource, error) {
	var first error
	for _, resource := range resources {
		err := ask(resource)
		if !failedInside(err) {
			return resource, err
		}
		first = cmp.Or(first, err)
	}
	return resources[0], first
}

// Live reads the metadata of an object, and returns how to address it; nil when it, or its kind, does not exist.
func (r *Remover) Live(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (*metav1.PartialObjectMetadata, kinds.Resource, error) {
	resources, err := r.resources(ctx, gvk)
	if err != nil {
		return nil, kinds.Resource{}, kinds.IgnoreNoMatch(err)
	}
	var live *metav1.PartialObjectMetadata
	resource, err := inOneOf(resources, func(resource kinds.Resource) (err error) {
		live, err = r.Cluster.Metadata.Resource(resource.GroupVersionResource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, resource, nil
	}
	return live, resource, err
}

// When a definition is deleted, all objects of its kind are deleted with it. So no definition is deleted while there
// are objects that the module did not create.

// dataKind is a kind whose objects may be data of a module's users.
type dataKind struct {
	schema.GroupKind
	// resources are how to address it: first in the version in which it is stored, which needs no conversion.
	resources []kinds.Resource
}

// servedGroups is what a cluster serves, by group, each read once.
type servedGroups map[string]map[string]clusters.Served

func (g *servedGroups) served(ctx context.Context, c *clusters.Cluster, group string) (map[string]clusters.Served, error) {
	if known, ok := (*g)[group]; ok {
		return known, nil
	}
	served, err := c.Mapper.Confirmed().Served(ctx, group)
	if err != nil {
		return nil, err
	}
	if *g == nil {
		*g = servedGroups{}
	}
	(*g)[group] = served
	return served, nil
}

// stored returns the ways to address a kind, the version in which it is stored first, where its group was read.
func (g servedGroups) stored(kind schema.GroupKind) []kinds.Resource {
	for plural, of := range g[kind.Group] {
		if of.Kind == kind.Kind {
			return resourcesOf(kind.Group, plural, of)
		}
	}
	return nil
}

func resourcesOf(group, plural string, of clusters.Served) []kinds.Resource {
	all := make([]kinds.Resource, 0, len(of.Versions))
	for _, version := range of.Versions {
		gvr := schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
		all = append(all, kinds.Resource{GroupVersionResource: gvr, Namespaced: of.Namespaced})
	}
	return all
}

// failedInside tells whether an API server failed to serve a request, as where it has to convert an object and the
// conversion webhook is down. Where it lists from its cache it then answers 429, since it cannot fill that cache
// (k8s.io/apiserver, cacher.ready).
func failedInside(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return s.Code == http.StatusInternalServerError ||
		s.Code == http.StatusTooManyRequests && strings.Contains(s.Message, "storage is (re)initializing")
}

// namespaceKinds are the kinds whose objects are deleted with their namespace, read once and only when needed.
type namespaceKinds struct {
	once  sync.Once
	kinds []namespaceKind
	// unknown are the groups whose kinds could not be read.
	unknown []string
	err     error
}

// namespaceKind is a kind whose objects show that a namespace is in use.
type namespaceKind struct {
	schema.GroupVersionResource
	kind string
}

// usage is what Manifests of other Kymas have in the same cluster. A removal hands it over to them.
type usage struct {
	Manifests []*v1beta2.Manifest
	// ByID says who has an object in its inventory, or as its default custom resource; byKind who has objects of a kind.
	ByID   map[string]*v1beta2.Manifest
	byKind map[schema.GroupKind]*v1beta2.Manifest
}
