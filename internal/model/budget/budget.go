// Package budget limits how many clusters of an instance lose modules within a window of time, whatever the cause: a
// module removed from a list, a deleted Kyma, a purge. The status of a RemovalBudget records which clusters were
// counted. It has the name of the instance, so all processes of the instance count in the same object
// (docs/operating.md#removals).
//
// Before a Kyma loses its first module, the caller calls Take. It returns a zero fault if the cluster may lose modules,
// and otherwise a fault that says why the removal waits:
//
//	held, err := b.Take(ctx, kyma)
//	if err != nil || !held.IsZero() {
//		return // retried later
//	}
//
// Invariants: a cluster is counted before it loses a module, and only once within the window. Only a live read decides
// whether a cluster is counted; the resource version in the write makes sure that no two processes take the same place.
//
//	account.go  what is left of a RemovalBudget at a given time
//	take.go     counts a cluster before it loses its first module
//	held.go     messages, conditions and Events about removals that wait
package budget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// Limits define how many clusters may lose modules within a window: the greater of Min and Percent of the instance's
// Kymas.
type Limits struct {
	// Percent is a share of the instance's Kymas; 5 by default.
	Percent int
	// Min is how many clusters may lose modules in a fleet of any size; 10 by default, and at least 1.
	Min int
	// Window is the time within which clusters are counted; one hour by default.
	Window time.Duration
}

// WithDefaults returns the limits with a default for each that is zero.
func (l Limits) WithDefaults() Limits {
	if l.Percent <= 0 {
		l.Percent = 5
	}
	if l.Min <= 0 {
		l.Min = 10
	}
	if l.Window <= 0 {
		l.Window = time.Hour
	}
	return l
}

// Options are the settings and dependencies of a Budget.
type Options struct {
	Settings desired.Settings
	Limits   Limits
	// ControlPlane reads and writes the control plane without a cache.
	ControlPlane client.Client
	// Cache reads Kymas and RemovalBudgets from informers.
	Cache client.Reader
	// Events may be nil; then no Events are recorded.
	Events hint.Recorder
	// NoApprovals says why approvals are impossible, for example because there is no admission webhook. It is empty if
	// they are possible.
	NoApprovals string
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Budget is the removal budget of an instance.
type Budget struct {
	options Options
	// turn lets the goroutines of this process write one after the other. Concurrent writes would only conflict.
	turn chan struct{}

	mu    sync.Mutex
	kymas int
	asOf  time.Time
}

// New returns the budget of an instance.
func New(o Options) (*Budget, error) {
	if o.ControlPlane == nil || o.Cache == nil {
		return nil, errors.New("budget: ControlPlane and Cache must be set")
	}
	o.Settings, o.Limits = o.Settings.WithDefaults(), o.Limits.WithDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Budget{options: o, turn: make(chan struct{}, 1)}, nil
}

// Key returns the namespace and name of an instance's RemovalBudget. Its namespace is kcp-system, or the first
// namespace of the instance if the instance is limited to other namespaces.
func Key(settings desired.Settings) types.NamespacedName {
	settings = settings.WithDefaults()
	key := types.NamespacedName{Namespace: shared.NamespaceControlPlane, Name: settings.ManagedBy}
	if len(settings.Namespaces) > 0 && !slices.Contains(settings.Namespaces, key.Namespace) {
		key.Namespace = slices.Min(settings.Namespaces)
	}
	return key
}

// Key returns the namespace and name of the RemovalBudget.
func (b *Budget) Key() types.NamespacedName { return Key(b.options.Settings) }

// Window returns the time within which clusters are counted.
func (b *Budget) Window() time.Duration { return b.options.Limits.Window }

// Ensure creates the RemovalBudget if it is missing, so that operators can add approvals to it.
func (b *Budget) Ensure(ctx context.Context) error {
	if _, err := b.read(ctx, b.options.Cache); !apierrors.IsNotFound(err) {
		return err
	}
	_, err := b.ensure(ctx)
	return err
}

// ensure reads the RemovalBudget live, and creates it if it is missing.
func (b *Budget) ensure(ctx context.Context) (*v1beta2.RemovalBudget, error) {
	live, err := b.read(ctx, b.options.ControlPlane)
	if !apierrors.IsNotFound(err) {
		return live, err
	}
	key := b.Key()
	live = &v1beta2.RemovalBudget{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{shared.LabelManagedBy: b.options.Settings.ManagedBy},
	}}
	err = b.options.ControlPlane.Create(ctx, live, client.FieldOwner(shared.FieldManagerLifecycleManager))
	if apierrors.IsAlreadyExists(err) {
		return b.read(ctx, b.options.ControlPlane)
	}
	if err != nil {
		return nil, fmt.Errorf("create RemovalBudget %s: %w", key, err)
	}
	return live, nil
}

func (b *Budget) read(ctx context.Context, from client.Reader) (*v1beta2.RemovalBudget, error) {
	found := &v1beta2.RemovalBudget{}
	if err := from.Get(ctx, b.Key(), found); err != nil {
		return nil, fmt.Errorf("read RemovalBudget %s: %w", b.Key(), err)
	}
	return found, nil
}

// Approves reports whether a change of the catalog is approved. Noted is true if the changed object says that it is
// approved. Then a cache without the approval is not trusted, and the RemovalBudget is read live.
func (b *Budget) Approves(ctx context.Context, change string, noted bool) (bool, error) {
	if change == "" || b.options.NoApprovals != "" {
		return false, nil
	}
	known, err := b.read(ctx, b.options.Cache)
	if noted && (apierrors.IsNotFound(err) || err == nil && !ApprovesChange(known, change)) {
		known, err = b.read(ctx, b.options.ControlPlane)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && ApprovesChange(known, change), err
}

// ApprovesChange reports whether a RemovalBudget has an approval of a change of the catalog.
func ApprovesChange(budget *v1beta2.RemovalBudget, change string) bool {
	return change != "" && slices.ContainsFunc(budget.Spec.Approvals, func(a v1beta2.RemovalApproval) bool { return a.Change == change && isSigned(a) })
}

// countFor is how long a count of the Kymas is used.
const countFor = 5 * time.Second

// limit returns how many clusters may lose modules within the window without an approval.
func (b *Budget) limit(ctx context.Context) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.options.Now()
	if b.asOf.IsZero() || now.Sub(b.asOf) >= countFor {
		var kymas v1beta2.KymaList
		if err := b.options.Cache.List(ctx, &kymas, client.UnsafeDisableDeepCopy); err != nil {
			return 0, fmt.Errorf("count the Kymas: %w", err)
		}
		b.kymas, b.asOf = 0, now
		for i := range kymas.Items {
			if kyma := &kymas.Items[i]; b.options.Settings.Ours(kyma.Labels) && !desired.IsSyncedCopy(kyma) {
				b.kymas++
			}
		}
	}
	return min(max(1, b.options.Limits.Min, b.kymas*b.options.Limits.Percent/100), maxTaken), nil
}
