package install

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

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/reserved"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// prune removes, after everything was applied, what the inventory has and the module no longer, and no other Kyma in
// the same cluster needs. It returns the ids of entries that are positively gone, or not ours any more; the others
// stay in the inventory and are tried again at the next look.
func (a *Activities) prune(ctx context.Context, job *installation) (map[string]bool, error) {
	old := superseded(job.manifest.Status.Inventory, job.plan.entries)
	gone := map[string]bool{}
	if len(old) == 0 {
		return gone, nil
	}
	if len(job.silent) > 0 {
		// What is no longer rendered may only be missing because of that. It is looked at again at the next look.
		a.teller.notPruned(job.manifest, len(old), job.silent)
		return gone, nil
	}
	if err := a.unchanged(ctx, job.manifest); err != nil {
		return nil, err
	}
	r := &remover{cluster: job.cluster, kinds: kinds{mapper: job.cluster.Mapper}, owner: job.owner, gone: gone, keepUserData: true}
	old, err := r.withoutSkipped(ctx, old, &job.plan)
	if err != nil {
		return nil, err
	}
	old, stay, err := a.leaveToOthers(ctx, r, job.manifest, old)
	if err != nil {
		return nil, err
	}
	a.teller.left(job.manifest, stay)
	for s := stageCount - 1; s >= 0; s-- {
		if err := r.removeAll(ctx, ofStage(old, s), a.options.Parallel); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// ofStage are the entries of one stage. Entries that cannot be read belong to none: nothing is removed for them.
func ofStage(entries []v1beta2.InventoryEntry, s stage) []v1beta2.InventoryEntry {
	var all []v1beta2.InventoryEntry
	for _, e := range entries {
		if gvk, _, err := e.Object(); err == nil && stageOf(gvk.GroupKind()) == s {
			all = append(all, e)
		}
	}
	return all
}

// remover removes objects of the inventory from a cluster, each only when it carries our mark, and with its
// uid as a precondition.
type remover struct {
	cluster *clusters.Cluster
	kinds   kinds
	owner   owner
	// keepUserData keeps definitions that have objects, and namespaces: they go only with the module.
	keepUserData bool
	// siblings are the other modules in the same cluster: a namespace that one of them uses stays.
	siblings []*v1beta2.Manifest
	// used is what other Kymas have in the cluster, once that was read.
	used *usage
	// data are the kinds of which users' objects hold up the removal, once they were read, allowed whether the loss of
	// these objects is allowed, once that was asked, and groups what the cluster serves of their groups.
	data    []dataKind
	allowed *bool
	groups  servedGroups
	// living are the kinds whose objects show that a namespace is in use.
	living livingKinds

	mu sync.Mutex
	// gone are the ids of entries that need no more care.
	gone map[string]bool
	// left are the objects that are still there, as "Kind namespace/name".
	left []string
	// stays are the namespaces that stay because others use them, each with what shows that.
	stays []string
	// deleted counts the objects whose deletion was accepted.
	deleted int
}

// withoutSkipped are the entries without those whose kind was not known when optional objects of it were skipped, and
// is known now: they are still wanted, and the next look applies them. What is unknown still went with its kind.
func (r *remover) withoutSkipped(ctx context.Context, old []v1beta2.InventoryEntry, p *plan) ([]v1beta2.InventoryEntry, error) {
	var all []v1beta2.InventoryEntry
	for _, e := range old {
		if gvk, name, err := e.Object(); err == nil && p.skips(gvk.GroupKind()) {
			_, err = r.resource(ctx, gvk)
			if err == nil {
				continue
			}
			if !meta.IsNoMatchError(err) {
				return nil, clusters.Classify(fmt.Errorf("look up the kind of %s: %w", describe(gvk.Kind, name), err))
			}
		}
		all = append(all, e)
	}
	return all, nil
}

func (r *remover) removeAll(ctx context.Context, entries []v1beta2.InventoryEntry, parallel int) error {
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

func (r *remover) note(e v1beta2.InventoryEntry, there bool) {
	gvk, name, _ := e.Object()
	r.mu.Lock()
	defer r.mu.Unlock()
	if there {
		r.left = append(r.left, describe(gvk.Kind, name))
		return
	}
	r.gone[e.ID] = true
}

// deletionReads is how often an object is read after its deletion that is said to be there as if nothing had
// happened: such an answer comes from before.
const deletionReads = 2

// remove removes one object as far as that is possible now. It returns whether the object is still there
// and still ours.
func (r *remover) remove(ctx context.Context, e v1beta2.InventoryEntry) (bool, error) {
	gvk, name, err := e.Object()
	if err != nil {
		return false, err
	}
	described := describe(gvk.Kind, name)
	live, resource, err := r.live(ctx, gvk, name)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", described, err)
	}
	switch {
	case live == nil:
		return false, nil
	case !r.owner.owns(live), isProtected(gvk, name):
		// What another owner claims, or what was there before us, is not ours to remove.
		return false, r.leaveNamespace(ctx, gvk, live, resource)
	case !live.DeletionTimestamp.IsZero():
		return true, nil
	}
	keep, err := r.keeps(ctx, gvk, name)
	if err != nil {
		return false, fmt.Errorf("look for what stands on %s: %w", described, err)
	}
	if keep {
		return r.keepUserData, nil
	}
	background := metav1.DeletePropagationBackground
	client := r.cluster.Metadata.Resource(resource.GroupVersionResource).Namespace(name.Namespace)
	err = client.Delete(ctx, name.Name, metav1.DeleteOptions{
		PropagationPolicy: &background,
		Preconditions:     &metav1.Preconditions{UID: &live.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return false, fmt.Errorf("delete %s: %w", described, err)
	}
	if err == nil {
		r.mu.Lock()
		r.deleted++
		r.mu.Unlock()
	}
	// Gone is what is seen to be gone: finalizers may hold it.
	for range deletionReads {
		if live, _, err = r.live(ctx, gvk, name); err != nil {
			return false, fmt.Errorf("read %s: %w", described, err)
		}
		if live == nil || !live.DeletionTimestamp.IsZero() {
			break
		}
	}
	return live != nil && r.owner.owns(live), nil
}

// resource is how to address a kind: the version that it was applied with may no longer be served, the kind in
// another one. A kind that the module defines is addressed in the version in which it is stored, which the API server
// answers in also when the webhook is dead that converts to others.
func (r *remover) resource(ctx context.Context, gvk schema.GroupVersionKind) (clusters.Resource, error) {
	all, err := r.resources(ctx, gvk)
	if err != nil {
		return clusters.Resource{}, err
	}
	return all[0], nil
}

// resources are all ways to address a kind, the best one first. An object may have been stored before its kind's stored
// version was changed; without the webhook that converts, the API server has it in that older version only.
func (r *remover) resources(ctx context.Context, gvk schema.GroupVersionKind) ([]clusters.Resource, error) {
	if stored := r.groups.stored(gvk.GroupKind()); len(stored) > 0 {
		return stored, nil
	}
	resource, err := r.kinds.resource(ctx, gvk)
	if meta.IsNoMatchError(err) {
		resource, err = r.kinds.resource(ctx, schema.GroupVersionKind{Group: gvk.Group, Kind: gvk.Kind})
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

// live reads the metadata of an object, and returns how to address it; nil when it, or its kind, is not there.
func (r *remover) live(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (*metav1.PartialObjectMetadata, clusters.Resource, error) {
	resources, err := r.resources(ctx, gvk)
	if meta.IsNoMatchError(err) {
		return nil, clusters.Resource{}, nil
	}
	if err != nil {
		return nil, clusters.Resource{}, err
	}
	var live *metav1.PartialObjectMetadata
	resource, err := inOneOf(resources, func(resource clusters.Resource) (err error) {
		live, err = r.cluster.Metadata.Resource(resource.GroupVersionResource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, resource, nil
	}
	return live, resource, err
}

// isProtected names what no module's removal deletes, and no module makes its own, whatever marks it carries.
func isProtected(gvk schema.GroupVersionKind, name types.NamespacedName) bool {
	if reserved.Object(gvk.GroupKind(), name) != "" {
		return true
	}
	if !isShared(gvk.GroupKind()) {
		return false
	}
	switch name.Name {
	case shared.NamespaceRemote, shared.NamespaceControlPlane, shared.NamespaceKubeSystem, "default", "kube-public", "kube-node-lease":
		return true
	}
	return false
}
