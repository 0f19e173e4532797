package readiness

import (
	"context"
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

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// Options configures how a module's state is read.
type Options struct {
	// Rule decides which states count.
	Rule shared.StateRule
	// RemoteNamespace is the namespace of a module's objects that name none.
	RemoteNamespace string
	// Patience is how long a workload may be pending before its pods are read for the reason.
	Patience time.Duration
	Clock    func() time.Time
	// Round shares requests with other modules; nil for a module that is read alone.
	Round *Round
}

// Observe reads the state of a module once, without waiting: its resources, its manager and its custom resource. It
// costs one request per kind that counts (Counts), one for the module's custom resource, and one for a manager that
// is not among the module's resources. If a workload has been pending for longer than options.Patience, Observe also
// reads its pods.
func Observe(ctx context.Context, c *clusters.Cluster, m *v1beta2.Manifest, options Options) (Observed, error) {
	o := NewObserver(objects.NewTarget(m, c, nil), options.Rule, options.Clock())
	o.round = options.Round
	if err := o.Resources(ctx, m.Status.Inventory); err != nil {
		return Observed{}, clusters.Classify(err)
	}
	if err := o.explain(ctx, m, options.Clock(), options.Patience); err != nil {
		return Observed{}, clusters.Classify(err)
	}
	manager, err := o.Manager(ctx, m, options.RemoteNamespace)
	if err != nil {
		return Observed{}, clusters.Classify(err)
	}
	cr, err := o.ModuleCR(ctx, m)
	if err != nil {
		return Observed{}, clusters.Classify(err)
	}
	return WithConflicts(Judge(o.Health, manager, cr), m.Status.Corrections), nil
}

// Counts reports whether the health of objects of this kind is part of a module's state.
func Counts(rule shared.StateRule, kind schema.GroupKind) bool {
	if rule.OnlyWorkloads() && kind != (schema.GroupKind{Group: kinds.GroupApps, Kind: kinds.Deployment}) &&
		kind != (schema.GroupKind{Group: kinds.GroupApps, Kind: kinds.StatefulSet}) {
		return false
	}
	return kinds.HealthMatters(kind)
}

// Observer reads one module in one cluster.
type Observer struct {
	objects.Target

	rule  shared.StateRule
	round *Round
	mu    sync.Mutex
	// Seen holds the objects that were read in full, by inventory id.
	Seen map[string]*unstructured.Unstructured
	// unready holds the workloads that are not ready, and others the other objects that are not.
	unready, others []unreadyObject
	autoscalers     *Autoscalers
	now             time.Time
	Health
}

// NewObserver returns an Observer that has not read anything yet.
func NewObserver(target objects.Target, rule shared.StateRule, now time.Time) *Observer {
	return &Observer{Target: target, rule: rule, Seen: map[string]*unstructured.Unstructured{}, autoscalers: NewAutoscalers(target.Cluster), now: now}
}

// Resources reads the health of all objects of the inventory that count.
func (o *Observer) Resources(ctx context.Context, entries []v1beta2.InventoryEntry) error {
	byKind := map[schema.GroupVersionKind][]v1beta2.InventoryEntry{}
	for _, e := range entries {
		if e.Leaving {
			continue
		}
		gvk, _, err := e.Object()
		if err != nil {
			return err
		}
		if Counts(o.rule, gvk.GroupKind()) {
			byKind[gvk] = append(byKind[gvk], e)
		}
	}
	o.Total = inventory.Count(entries)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(objects.ParallelLists)
	for gvk, entries := range byKind {
		group.Go(func() error { return o.kind(ctx, gvk, entries) })
	}
	return group.Wait()
}

// kind reads all objects of one kind.
func (o *Observer) kind(ctx context.Context, gvk schema.GroupVersionKind, entries []v1beta2.InventoryEntry) error {
	resource, err := o.Mapper.Served(ctx, gvk)
	if meta.IsNoMatchError(err) {
		for _, e := range entries {
			if err := o.Note(ctx, e, nil, nil); err != nil {
				return err
			}
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
			// The object may have lost the label that the LIST selects.
			if u, err = o.get(ctx, gvk, resource, name); err != nil {
				return fmt.Errorf("read %s %s: %w", gvk.Kind, name, err)
			}
		}
		if err := o.Note(ctx, e, u, u); err != nil {
			return err
		}
	}
	return nil
}

// list reads our objects of a kind, by name.
func (o *Observer) list(ctx context.Context, gvk schema.GroupVersionKind, resource kinds.Resource) (objectsByName, error) {
	if o.round == nil {
		found, err := list(ctx, o.Cluster, gvk, resource, o.Owner.Selector())
		return found[o.Owner.Name], err
	}
	found, err := o.round.list(ctx, o.Cluster, gvk, resource)
	return found[o.Owner.Name], err
}

// get reads one object; nil if it does not exist.
func (o *Observer) get(
	ctx context.Context, gvk schema.GroupVersionKind, resource kinds.Resource, name types.NamespacedName,
) (*unstructured.Unstructured, error) {
	if kinds.ExistenceOnly(gvk) {
		_, err := o.Cluster.Metadata.Resource(resource.GroupVersionResource).Get(ctx, name.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // a missing object is an ordinary case
		}
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u, err
	}
	u, err := o.Cluster.Dynamic.Resource(resource.GroupVersionResource).Namespace(name.Namespace).
		Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // a missing object is an ordinary case
	}
	return u, err
}

// Note judges one object (Compute) and records the result; u is nil if the object does not exist. Note takes the
// managed fields from live. It costs a request if somebody scaled a workload to 0.
func (o *Observer) Note(ctx context.Context, e v1beta2.InventoryEntry, u *unstructured.Unstructured, live metav1.Object) error {
	gvk, name, _ := e.Object()
	described := objects.Describe(gvk.Kind, name)
	state, why := status.NotFoundStatus, ""
	switch {
	case u == nil && e.UID != "" && inventory.RunsOnce(e), u != nil && e.Ran != "" && !kinds.IsJob(gvk.GroupKind()) && u.GetDeletionTimestamp().IsZero():
		// The object ran, or was cleaned up after it ran. A Job or a hook runs once for a version.
		state = status.CurrentStatus
	case u == nil:
	case kinds.ExistenceOnly(gvk):
		state = status.CurrentStatus
		if !u.GetDeletionTimestamp().IsZero() {
			state, why = status.TerminatingStatus, heldText(u)
		}
	default:
		state, why = Compute(u, live)
		if state == status.InProgressStatus && isScaled(u, live) {
			idle, err := o.autoscalers.idles(ctx, u)
			if err != nil {
				return err
			}
			if idle {
				state = status.CurrentStatus
			}
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Seen[e.ID] = u
	unready := unreadyObject{described: described, object: u}
	switch state {
	case status.CurrentStatus:
		return nil
	case status.NotFoundStatus:
		o.noteMissing(e, described)
		return nil
	case status.FailedStatus:
		unready.why = why
		o.failed = append(o.failed, unready.failed())
	default:
		if why != "" {
			unready.described += " (" + objects.Shorten(why) + ")"
		}
		o.pending = append(o.pending, unready.described)
	}
	if kinds.RunsPods(gvk.GroupKind()) {
		o.unready = append(o.unready, unready)
	} else if why == "" {
		o.others = append(o.others, unready)
	}
	return nil
}

// noteMissing records an object that does not exist. If somebody keeps deleting it, it is not created again at once
// and counts as failed meanwhile.
func (o *Observer) noteMissing(e v1beta2.InventoryEntry, described string) {
	if e.UID == "" {
		o.pending = append(o.pending, described)
		return
	}
	if o.Manifest != nil {
		if c, waits := Waiting(o.Manifest.Status.Corrections, e.ID, true, o.now); waits {
			o.failed = append(o.failed, fmt.Sprintf("%s (somebody keeps deleting it; created again at %s)", described, timeText(NextCorrection(c))))
			return
		}
	}
	o.missing = append(o.missing, described)
}

// Manager reads the workload that spec.manager names, unless only workloads count.
func (o *Observer) Manager(ctx context.Context, m *v1beta2.Manifest, remoteNamespace string) (ManagerHealth, error) {
	if m.Spec.Manager == nil || o.rule.OnlyWorkloads() {
		return ManagerHealth{}, nil
	}
	gvk := m.Spec.Manager.Schema()
	name := types.NamespacedName{Namespace: m.Spec.Manager.Namespace, Name: m.Spec.Manager.Name}
	resource, err := o.Mapper.Resource(ctx, gvk)
	if meta.IsNoMatchError(err) {
		return ManagerHealth{named: true, name: objects.Describe(gvk.Kind, name)}, nil
	}
	if err != nil {
		return ManagerHealth{}, fmt.Errorf("look up the module's manager of kind %s: %w", gvk.Kind, err)
	}
	name.Namespace = objects.NamespaceOf(resource, name.Namespace, remoteNamespace)
	found := ManagerHealth{named: true, name: objects.Describe(gvk.Kind, name)}
	u, err := o.once(ctx, gvk, resource, name)
	if err != nil {
		return ManagerHealth{}, fmt.Errorf("read the module's manager %s: %w", found.name, err)
	}
	if u != nil {
		if found.ready, err = Healthy(ctx, o.autoscalers, u, u); err != nil {
			return ManagerHealth{}, err
		}
	}
	return found, nil
}

// once reads an object unless it has already been read.
func (o *Observer) once(
	ctx context.Context, gvk schema.GroupVersionKind, resource kinds.Resource, name types.NamespacedName,
) (*unstructured.Unstructured, error) {
	if id, err := v1beta2.InventoryID(gvk.GroupKind(), name); err == nil {
		if u, ok := o.Seen[id]; ok {
			return u, nil
		}
	}
	return o.get(ctx, gvk, resource, name)
}

// ModuleCR reads the default custom resource.
func (o *Observer) ModuleCR(ctx context.Context, m *v1beta2.Manifest) (ModuleCR, error) {
	wanted, err := DefaultCROf(m)
	if err != nil || wanted == nil {
		return ModuleCR{}, err
	}
	gvk := wanted.GroupVersionKind()
	name := types.NamespacedName{Namespace: wanted.GetNamespace(), Name: wanted.GetName()}
	cr := ModuleCR{Tracked: true, name: objects.Describe(gvk.Kind, name)}
	recorded := m.Status.DefaultCR
	if recorded == nil || recorded.UID == "" {
		cr.wanted = true
		return cr, nil
	}
	gvk, name = inventory.RecordedCR(recorded)
	cr.name = objects.Describe(gvk.Kind, name)
	u, err := objects.Recorded(ctx, o.Cluster, gvk, name)
	if err != nil {
		return ModuleCR{}, err
	}
	if u == nil {
		cr.wanted = RecreatesDefaultCR(m)
		return cr, nil
	}
	cr.Exists = true
	cr.State, err = ReportedState(o.rule, m, u)
	return cr, err
}
