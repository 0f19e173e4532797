package install

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// listsAtOnce is how many kinds are listed at once in one cluster.
	listsAtOnce = 4
	// pageSize of lists.
	pageSize = 500
)

// observe reads, once and without waiting, how a module is: its resources, its manager, its custom resource.
// It costs one request per kind whose health matters, one for the module's custom resource, and one for a
// manager that is none of the module's resources. A workload that is not ready for longer than patience is asked why.
func observe(ctx context.Context, c *clusters.Cluster, m *v1beta2.Manifest, remoteNamespace string, now time.Time, patience time.Duration) (Observed, error) {
	o := observer{cluster: c, kinds: kinds{mapper: c.Mapper}, owner: ownerOf(m), seen: map[string]*unstructured.Unstructured{}}
	if err := o.resources(ctx, m.Status.Inventory); err != nil {
		return Observed{}, clusters.Classify(err)
	}
	if err := o.explain(ctx, m, now, patience); err != nil {
		return Observed{}, clusters.Classify(err)
	}
	manager, err := o.manager(ctx, m, remoteNamespace)
	if err != nil {
		return Observed{}, clusters.Classify(err)
	}
	cr, err := o.moduleCR(ctx, m)
	if err != nil {
		return Observed{}, clusters.Classify(err)
	}
	return withDisputes(judge(o.health, manager, cr), m.Status.Corrections), nil
}

// observer reads one module in one cluster.
type observer struct {
	cluster *clusters.Cluster
	kinds   kinds
	owner   owner

	mu sync.Mutex
	// seen are the objects that were read in full, by inventory id.
	seen map[string]*unstructured.Unstructured
	// held are the workloads that are not ready.
	held []heldWorkload
	health
}

// resources reads the health of all objects of the inventory for which it matters.
func (o *observer) resources(ctx context.Context, inventory []v1beta2.InventoryEntry) error {
	byKind := map[schema.GroupVersionKind][]v1beta2.InventoryEntry{}
	for _, e := range inventory {
		if e.Leaving {
			continue
		}
		gvk, _, err := e.Object()
		if err != nil {
			return err
		}
		if healthMatters(gvk.GroupKind()) {
			byKind[gvk] = append(byKind[gvk], e)
		}
	}
	o.total = staying(inventory)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listsAtOnce)
	for gvk, entries := range byKind {
		group.Go(func() error { return o.kind(ctx, gvk, entries) })
	}
	return group.Wait()
}

// kind reads all objects of one kind.
func (o *observer) kind(ctx context.Context, gvk schema.GroupVersionKind, entries []v1beta2.InventoryEntry) error {
	resource, err := o.kinds.resource(ctx, gvk)
	if meta.IsNoMatchError(err) {
		for _, e := range entries {
			o.note(e, nil)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up kind %s: %w", gvk.Kind, err)
	}
	found, err := o.list(ctx, gvk, resource)
	if err != nil {
		return fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	for _, e := range entries {
		_, name, err := e.Object()
		if err != nil {
			return err
		}
		u, ok := found[name]
		if !ok {
			// It may have lost the label by which it is listed.
			if u, err = o.get(ctx, gvk, resource, name); err != nil {
				return fmt.Errorf("read %s %s: %w", gvk.Kind, name, err)
			}
		}
		o.note(e, u)
	}
	return nil
}

// list reads our objects of a kind by name. Definitions are very large and known to be established since
// they were applied: of them only the metadata is read.
func (o *observer) list(ctx context.Context, gvk schema.GroupVersionKind, resource clusters.Resource) (map[types.NamespacedName]*unstructured.Unstructured, error) {
	found := map[types.NamespacedName]*unstructured.Unstructured{}
	options := metav1.ListOptions{LabelSelector: o.owner.selector(), Limit: pageSize}
	for {
		var next string
		if onlyExistence(gvk) {
			page, err := o.cluster.Metadata.Resource(resource.GroupVersionResource).List(ctx, options)
			if smaller, again := smallerPage(options.Limit, err); again {
				options.Limit = smaller
				continue
			}
			if err != nil {
				return found, ignoreUnserved(err)
			}
			for i := range page.Items {
				u := &unstructured.Unstructured{}
				u.SetGroupVersionKind(gvk)
				u.SetName(page.Items[i].Name)
				u.SetDeletionTimestamp(page.Items[i].DeletionTimestamp)
				found[types.NamespacedName{Name: u.GetName()}] = u
			}
			next = page.Continue
		} else {
			page, err := o.cluster.Dynamic.Resource(resource.GroupVersionResource).List(ctx, options)
			if smaller, again := smallerPage(options.Limit, err); again {
				options.Limit = smaller
				continue
			}
			if err != nil {
				return found, ignoreUnserved(err)
			}
			for i := range page.Items {
				u := &page.Items[i]
				found[types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}] = u
			}
			next = page.GetContinue()
		}
		if next == "" {
			return found, nil
		}
		options.Continue = next
	}
}

// smallerPage is the limit to ask with once more for a page that was too large to be read; a page of one object is not
// asked for again.
func smallerPage(limit int64, err error) (int64, bool) {
	return limit / 2, limit > 1 && errors.Is(err, clusters.ErrResponseTooLarge)
}

// get reads one object; nil when it is not there.
func (o *observer) get(ctx context.Context, gvk schema.GroupVersionKind, resource clusters.Resource, name types.NamespacedName) (*unstructured.Unstructured, error) {
	if onlyExistence(gvk) {
		_, err := o.cluster.Metadata.Resource(resource.GroupVersionResource).Get(ctx, name.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // not being there is an ordinary case
		}
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u, err
	}
	u, err := o.cluster.Dynamic.Resource(resource.GroupVersionResource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // not being there is an ordinary case
	}
	return u, err
}

// note judges one object by the rules of kstatus.
func (o *observer) note(e v1beta2.InventoryEntry, u *unstructured.Unstructured) {
	gvk, name, _ := e.Object()
	described := describe(gvk.Kind, name)
	state, why := status.NotFoundStatus, ""
	switch {
	case u == nil && e.UID != "" && runsOnce(e):
		// It ran, and was cleaned up since: a Job, or a hook, runs once for a version (see ranAlready).
		state = status.CurrentStatus
	case u == nil:
	case onlyExistence(gvk):
		state = status.CurrentStatus
		if !u.GetDeletionTimestamp().IsZero() {
			state = status.TerminatingStatus
		}
	default:
		state, why = compute(u)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[e.ID] = u
	switch state {
	case status.CurrentStatus:
		return
	case status.NotFoundStatus:
		if e.UID != "" {
			o.missing = append(o.missing, described)
			return
		}
		o.pending = append(o.pending, described)
	case status.FailedStatus:
		o.failed = append(o.failed, heldWorkload{described: described, why: why}.failed())
	default:
		why = ""
		o.pending = append(o.pending, described)
	}
	if u != nil && runsPods(gvk.GroupKind()) {
		o.held = append(o.held, heldWorkload{described: described, object: u, why: why})
	}
}

// compute asks kstatus; what it cannot read is in progress.
func compute(u *unstructured.Unstructured) (status.Status, string) {
	result, err := status.Compute(u)
	if err != nil {
		return status.InProgressStatus, ""
	}
	return result.Status, result.Message
}

// manager reads the workload that spec.manager names.
func (o *observer) manager(ctx context.Context, m *v1beta2.Manifest, remoteNamespace string) (managerHealth, error) {
	if m.Spec.Manager == nil {
		return managerHealth{}, nil
	}
	gvk := m.Spec.Manager.Schema()
	name := types.NamespacedName{Namespace: m.Spec.Manager.Namespace, Name: m.Spec.Manager.Name}
	resource, err := o.kinds.resource(ctx, gvk)
	if meta.IsNoMatchError(err) {
		return managerHealth{named: true, name: describe(gvk.Kind, name)}, nil
	}
	if err != nil {
		return managerHealth{}, fmt.Errorf("look up the module's manager of kind %s: %w", gvk.Kind, err)
	}
	switch {
	case !resource.Namespaced:
		name.Namespace = ""
	case name.Namespace == "":
		name.Namespace = remoteNamespace
	}
	found := managerHealth{named: true, name: describe(gvk.Kind, name)}
	u, err := o.once(ctx, gvk, resource, name)
	if err != nil {
		return managerHealth{}, fmt.Errorf("read the module's manager %s: %w", found.name, err)
	}
	if u != nil {
		state, _ := compute(u)
		found.ready = state == status.CurrentStatus
	}
	return found, nil
}

// once reads an object that may have been read already.
func (o *observer) once(ctx context.Context, gvk schema.GroupVersionKind, resource clusters.Resource, name types.NamespacedName) (*unstructured.Unstructured, error) {
	if id, err := v1beta2.InventoryID(gvk.GroupKind(), name); err == nil {
		if u, ok := o.seen[id]; ok {
			return u, nil
		}
	}
	return o.get(ctx, gvk, resource, name)
}

// moduleCR reads the default custom resource.
func (o *observer) moduleCR(ctx context.Context, m *v1beta2.Manifest) (moduleCR, error) {
	wanted, err := defaultCROf(m)
	if err != nil || wanted == nil {
		return moduleCR{}, err
	}
	gvk := wanted.GroupVersionKind()
	name := types.NamespacedName{Namespace: wanted.GetNamespace(), Name: wanted.GetName()}
	cr := moduleCR{tracked: true, name: describe(gvk.Kind, name)}
	recorded := m.Status.DefaultCR
	if recorded == nil || recorded.UID == "" {
		cr.wanted = true
		return cr, nil
	}
	gvk, name = recordedCR(recorded)
	cr.name = describe(gvk.Kind, name)
	resource, err := o.kinds.resource(ctx, gvk)
	if err != nil && !meta.IsNoMatchError(err) {
		return moduleCR{}, fmt.Errorf("look up kind %s: %w", gvk.Kind, err)
	}
	if err == nil {
		u, err := o.get(ctx, gvk, resource, name)
		if err != nil {
			return moduleCR{}, fmt.Errorf("read %s: %w", cr.name, err)
		}
		if u != nil {
			checks, err := stateChecks(m)
			if err != nil {
				return moduleCR{}, err
			}
			cr.exists, cr.state = true, MapState(u, checks)
			return cr, nil
		}
	}
	cr.wanted = recreates(m)
	return cr, nil
}

// onlyExistence tells for which kinds being there is all that is to be seen.
func onlyExistence(gvk schema.GroupVersionKind) bool {
	return gvk.GroupKind() == schema.GroupKind{Group: groupExtensions, Kind: kindDefinition}
}

// ignoreUnserved takes a kind that the server does not serve for one without objects.
func ignoreUnserved(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// describe names an object for people.
func describe(kind string, name types.NamespacedName) string {
	if name.Namespace == "" {
		return kind + " " + name.Name
	}
	return kind + " " + name.String()
}

// short keeps what others say to what fits a status.
func short(text string) string {
	const enough = 160
	return fault.Shorten(text, enough)
}
