package removal

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/bundle"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Remover removes objects of the inventory from a cluster, each only when it carries our mark, and with its
// uid as a precondition.
type Remover struct {
	objects.Target
	// KeepUserData keeps definitions that have objects, and namespaces: they go only with the module.
	KeepUserData bool
	// siblings are the other modules in the same cluster: a namespace that one of them uses stays.
	OtherModules []*v1beta2.Manifest
	// used is what other Kymas have in the cluster, once that was read.
	Used *usage
	// data are the kinds of which users' objects hold up the removal, once they were read, allowed whether the loss of
	// these objects is allowed, once that was asked, and groups what the cluster serves of their groups.
	data    []dataKind
	allowed *bool
	groups  servedGroups
	// living are the kinds whose objects show that a namespace is in use.
	namespaceKinds namespaceKinds

	mu sync.Mutex
	// gone are the ids of entries that need no more care.
	Gone map[string]bool
	// left are the objects that are still there, as "Kind namespace/name".
	RemainingObjects []string
	// stays are the namespaces that stay because others use them, each with what shows that.
	Kept []string
	// deleted counts the objects whose deletion was accepted.
	Deleted int
}

// NewRemover returns a remover that has read nothing yet.
func NewRemover(m *v1beta2.Manifest, c *clusters.Cluster) *Remover {
	return &Remover{Target: objects.NewTarget(m, c, nil), Gone: map[string]bool{}}
}

// WithoutSkipped are the entries without those whose kind was not known when optional objects of it were skipped, and
// is known now: they are still wanted, and the next look applies them. What is unknown still went with its kind.
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

func (r *Remover) RemoveAll(ctx context.Context, entries []v1beta2.InventoryEntry, parallel int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, e := range entries {
		group.Go(func() error {
			there, err := r.remove(ctx, e)
			if err != nil {
				return clusters.Classify(err)
			}
			r.note(e, there)
			return nil
		})
	}
	return group.Wait()
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

// deletionReads is how often an object is read after its deletion that is said to be there as if nothing had
// happened: such an answer comes from before.
const deletionReads = 2

// remove removes one object as far as that is possible now. It returns whether the object is still there
// and still ours.
func (r *Remover) remove(ctx context.Context, e v1beta2.InventoryEntry) (bool, error) {
	gvk, name, err := e.Object()
	if err != nil {
		return false, err
	}
	described := objects.Describe(gvk.Kind, name)
	live, resource, err := r.Live(ctx, gvk, name)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", described, err)
	}
	switch {
	case live == nil:
		return false, nil
	case !r.Owner.Owns(live), kinds.IsProtected(gvk, name):
		// What another owner claims, or what was there before us, is not ours to remove.
		return false, r.releaseNamespace(ctx, gvk, live, resource)
	case !live.DeletionTimestamp.IsZero():
		return true, nil
	}
	keep, err := r.keeps(ctx, gvk, name)
	if err != nil {
		return false, fmt.Errorf("look for what stands on %s: %w", described, err)
	}
	if keep {
		return r.KeepUserData, nil
	}
	accepted, err := objects.Delete(ctx, r.Cluster, resource.GroupVersionResource, name, live.UID)
	if err != nil {
		return false, fmt.Errorf("delete %s: %w", described, err)
	}
	if accepted {
		r.mu.Lock()
		r.Deleted++
		r.mu.Unlock()
	}
	// Gone is what is seen to be gone: finalizers may hold it.
	for range deletionReads {
		if live, _, err = r.Live(ctx, gvk, name); err != nil {
			return false, fmt.Errorf("read %s: %w", described, err)
		}
		if live == nil || !live.DeletionTimestamp.IsZero() {
			break
		}
	}
	return live != nil && r.Owner.Owns(live), nil
}

// resource is how to address a kind: the version that it was applied with may no longer be served, the kind in
// another one. A kind that the module defines is addressed in the version in which it is stored, which the API server
// answers in also when the webhook is dead that converts to others.
func (r *Remover) resource(ctx context.Context, gvk schema.GroupVersionKind) (clusters.Resource, error) {
	all, err := r.resources(ctx, gvk)
	if err != nil {
		return clusters.Resource{}, err
	}
	return all[0], nil
}

// resources are all ways to address a kind, the best one first. An object may have been stored before its kind's stored
// version was changed; without the webhook that converts, the API server has it in that older version only.
func (r *Remover) resources(ctx context.Context, gvk schema.GroupVersionKind) ([]clusters.Resource, error) {
	if stored := r.groups.stored(gvk.GroupKind()); len(stored) > 0 {
		return stored, nil
	}
	resource, err := r.Mapper.Resource(ctx, gvk)
	if meta.IsNoMatchError(err) {
		resource, err = r.Mapper.Resource(ctx, schema.GroupVersionKind{Group: gvk.Group, Kind: gvk.Kind})
	}
	return []clusters.Resource{resource}, err
}

// inOneOf asks in one version after the other until the API server can answer, and returns the one in which it did. The
// error is that of the first one.
func inOneOf(resources []clusters.Resource, ask func(clusters.Resource) error) (clusters.Resource, error) {
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

// Live reads the metadata of an object, and returns how to address it; nil when it, or its kind, is not there.
func (r *Remover) Live(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (*metav1.PartialObjectMetadata, clusters.Resource, error) {
	resources, err := r.resources(ctx, gvk)
	if meta.IsNoMatchError(err) {
		return nil, clusters.Resource{}, nil
	}
	if err != nil {
		return nil, clusters.Resource{}, err
	}
	var live *metav1.PartialObjectMetadata
	resource, err := inOneOf(resources, func(resource clusters.Resource) (err error) {
		live, err = r.Cluster.Metadata.Resource(resource.GroupVersionResource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, resource, nil
	}
	return live, resource, err
}
