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

// Remover removes objects of the inventory from a cluster. It deletes an object only if the object carries our mark,
// with the uid as a precondition.
type Remover struct {
	objects.Target
	// KeepUserData keeps namespaces, and definitions that have objects. They are deleted only with the module.
	KeepUserData bool
	// OtherModules are the other modules in the same cluster. A namespace that one of them uses stays.
	OtherModules []*v1beta2.Manifest
	// Used holds the objects of other Kymas in the cluster; nil before they were read.
	Used *usage
	// data holds the kinds whose users' objects block the removal; nil before they were read. allowed is whether the
	// loss of these objects is allowed; nil before that was read. groups caches what the cluster serves of their groups.
	data    []dataKind
	allowed *bool
	groups  servedGroups
	// namespaceKinds are the kinds whose objects show that a namespace is in use.
	namespaceKinds namespaceKinds

	mu sync.Mutex
	// Gone holds the ids of entries that no longer have to be removed.
	Gone map[string]bool
	// RemainingObjects are the objects that still exist, as "Kind namespace/name".
	RemainingObjects []string
	// Kept are the namespaces that stay because others use them, each with what shows the use.
	Kept []string
	// KeptByPolicy are the objects that stay because of Helm's annotation, as "Kind namespace/name", sorted.
	KeptByPolicy []string
	// Deleted counts the objects for which the API server accepted the deletion.
	Deleted int
}

// NewRemover returns a Remover that has not read anything yet.
func NewRemover(m *v1beta2.Manifest, c *clusters.Cluster) *Remover {
	r := &Remover{Target: objects.NewTarget(m, c, nil), Gone: map[string]bool{}}
	r.Mapper.Cluster = c.Mapper.Confirmed()
	return r
}

// WithoutSkipped returns the entries without optional objects of kinds that were unknown when the plan was made and
// are served now. These objects are still wanted, and the next reconcile applies them. Objects of a kind that is
// still unknown stay in the result, because they were deleted with their kind.
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

// resource returns the API resource of a kind. If the applied version is no longer served, this may be another
// version. For a kind that the module defines, it is the stored version, in which the API server answers even if the
// conversion webhook is down.
func (r *Remover) resource(ctx context.Context, gvk schema.GroupVersionKind) (kinds.Resource, error) {
	all, err := r.resources(ctx, gvk)
	if err != nil {
		return kinds.Resource{}, err
	}
	return all[0], nil
}

// resources returns all API resources of a kind, the best one first. An object may have been stored before its kind's
// stored version changed. Without the conversion webhook, the API server can return it only in that older version.
func (r *Remover) resources(ctx context.Context, gvk schema.GroupVersionKind) ([]kinds.Resource, error) {
	if stored := r.groups.stored(gvk.GroupKind()); len(stored) > 0 {
		return stored, nil
	}
	resource, err := r.Mapper.Served(ctx, gvk)
	return []kinds.Resource{resource}, err
}

// inOneOf tries one version after the other until the API server can answer, and returns that version. If all fail,
// it returns the first error.
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

// Live reads the metadata of an object, and returns its API resource. The metadata is nil if the object or its kind
// does not exist.
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

// Deleting a definition deletes all objects of its kind. So no definition is deleted while there are objects that the
// module did not create.

// dataKind is a kind whose objects may be data of a module's users.
type dataKind struct {
	schema.GroupKind
	// resources are the API resources of the kind. The stored version comes first, because it needs no conversion.
	resources []kinds.Resource
}

// servedGroups caches what a cluster serves, by group.
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

// stored returns the API resources of a kind, the stored version first, if its group was read; nil otherwise.
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

// failedInside reports whether an API server failed to serve a request, for example because it has to convert an
// object and the conversion webhook is down. If the API server lists from its cache, it then answers 429, because it
// cannot fill that cache (k8s.io/apiserver, cacher.ready).
func failedInside(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return s.Code == http.StatusInternalServerError ||
		s.Code == http.StatusTooManyRequests && strings.Contains(s.Message, "storage is (re)initializing")
}

// namespaceKinds are the kinds whose objects are deleted with their namespace. They are read once, when first needed.
type namespaceKinds struct {
	once  sync.Once
	kinds []namespaceKind
	// unknown holds the groups whose kinds could not be read.
	unknown []string
	err     error
}

// namespaceKind is a kind whose objects show that a namespace is in use.
type namespaceKind struct {
	schema.GroupVersionResource
	kind string
}

// usage records which objects Manifests of other Kymas have in the same cluster. A removal hands these objects over
// to them.
type usage struct {
	Manifests []*v1beta2.Manifest
	// ByID maps an object to the Manifest that has it in its inventory or as its default custom resource. byKind maps a
	// kind to a Manifest that has objects of it.
	ByID   map[string]*v1beta2.Manifest
	byKind map[schema.GroupKind]*v1beta2.Manifest
}
