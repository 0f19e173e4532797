package budget

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

const (
	// ReasonHeld is the reason of faults and Events about removals that wait for the budget.
	ReasonHeld = "RemovalHeld"
	// ConditionHeld of a RemovalBudget is True while removals wait.
	ConditionHeld = "Held"
	// reasonUsed and reasonFree are reasons of that condition.
	reasonUsed, reasonFree = "BudgetUsed", "NothingHeld"
)

// IsHeld reports whether a RemovalBudget says that removals wait.
func IsHeld(budget *v1beta2.RemovalBudget) bool {
	return meta.IsStatusConditionTrue(budget.Status.Conditions, ConditionHeld)
}

// held returns the fault for a Kyma that must wait. The message has no time in it, because a time would change with
// each attempt.
func (b *Budget) held(a account) fault.Fault {
	return fault.Fault{
		Kind: fault.Pending, Reason: ReasonHeld, SlowRetry: true,
		Message: fmt.Sprintf("removal is held: %s, as many as the removal budget allows", b.lost(a)),
		Hint: fmt.Sprintf("the removal continues when earlier removals are more than %s ago; to continue now: %s",
			b.window(), b.remedy()),
	}
}

// lost says how much of the budget is used.
func (b *Budget) lost(a account) string {
	return fmt.Sprintf("%d clusters lost modules within %s", len(a.taken), b.window())
}

// remedy says how to release removals that wait.
func (b *Budget) remedy() string {
	if why := b.options.NoApprovals; why != "" {
		return "approvals are not possible here: " + why
	}
	return fmt.Sprintf("add an approval to RemovalBudget %s", b.Key())
}

// window formats the window without zero units: 1h, not 1h0m0s.
func (b *Budget) window() string {
	window := b.options.Limits.Window
	switch {
	case window%time.Hour == 0:
		return fmt.Sprintf("%dh", window/time.Hour)
	case window%time.Minute == 0:
		return fmt.Sprintf("%dm", window/time.Minute)
	}
	return window.String()
}

// setHeld sets the condition Held.
func (b *Budget) setHeld(budget *v1beta2.RemovalBudget, held bool, a account) {
	condition := metav1.Condition{
		Type: ConditionHeld, Status: metav1.ConditionFalse, Reason: reasonFree, ObservedGeneration: budget.Generation,
		LastTransitionTime: metav1.NewTime(b.options.Now().UTC().Truncate(time.Second)), Message: "no removal waits",
	}
	if held {
		condition.Status, condition.Reason = metav1.ConditionTrue, reasonUsed
		condition.Message = fmt.Sprintf("%s, as many as the limit of %d and approvals allow: further removals wait; %s", b.lost(a), a.limit, b.remedy())
	}
	meta.SetStatusCondition(&budget.Status.Conditions, condition)
}

// recordHeld records an Event on the RemovalBudget.
func (b *Budget) recordHeld(budget *v1beta2.RemovalBudget, a account) {
	if b.options.Events != nil {
		hint.Record(b.options.Events, budget, corev1.EventTypeWarning, ReasonHeld,
			fmt.Sprintf("%s, as many as the removal budget allows: further removals wait", b.lost(a)), hint.For(ReasonHeld))
	}
}

// settle is how long a hold lasts at least before the leader ends it. The statuses of the Kymas that wait are written
// later than the condition.
const settle = 15 * time.Second

// Keep updates the status of the RemovalBudget, if there is one, from the time and the statuses of Kymas. It returns
// when to call it again; zero means not before something changes.
func (b *Budget) Keep(ctx context.Context) (time.Duration, error) {
	budget, err := b.read(ctx, b.options.ControlPlane)
	if err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	limit, err := b.limit(ctx)
	if err != nil {
		return 0, err
	}
	waiting, err := b.Waiting(ctx)
	if err != nil {
		return 0, err
	}
	var again time.Duration
	now, before := b.options.Now(), budget.DeepCopy()
	a := b.account(budget, limit)
	a.record(&budget.Status)
	budget.Status.Held, budget.Status.HeldSince = int32(len(waiting)), nil //nolint:gosec // a fleet has fewer
	if len(waiting) > 0 {
		budget.Status.HeldSince = waiting[0].Status.RemovalHeldSince
	}
	condition := meta.FindStatusCondition(budget.Status.Conditions, ConditionHeld)
	switch {
	case len(waiting) > 0:
		b.setHeld(budget, true, a)
	case condition == nil || condition.Status != metav1.ConditionTrue:
	case now.Sub(condition.LastTransitionTime.Time) >= settle:
		b.setHeld(budget, false, a)
	default:
		again = settle
	}
	if next := a.next(b.options.Limits.Window); !next.IsZero() && (again == 0 || next.Sub(now) < again) {
		again = max(time.Second, next.Sub(now))
	}
	if equality.Semantic.DeepEqual(before.Status, budget.Status) {
		return again, nil
	}
	if err := b.write(ctx, before, budget); apierrors.IsConflict(err) {
		return time.Second, nil
	} else if err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	return again, nil
}

// Waiting returns the Kymas of the instance whose removals wait, the longest wait first. They are shared with the cache
// and must not be changed.
func (b *Budget) Waiting(ctx context.Context) ([]*v1beta2.Kyma, error) {
	var all v1beta2.KymaList
	if err := b.options.Cache.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the Kymas whose removals are held: %w", err)
	}
	waiting := lists.Filter(lists.Pointers(all.Items), func(kyma *v1beta2.Kyma) bool {
		return kyma.Status.RemovalHeldSince != nil && b.options.Settings.Ours(kyma.Labels) && !desired.IsSyncedCopy(kyma)
	})
	slices.SortFunc(waiting, func(x, y *v1beta2.Kyma) int {
		return cmp.Or(x.Status.RemovalHeldSince.Compare(y.Status.RemovalHeldSince.Time), cmp.Compare(x.Namespace+"/"+x.Name, y.Namespace+"/"+y.Name))
	})
	return waiting, nil
}

// Room returns from the cache how many more clusters may lose modules now, and when that number changes by itself. A
// zero time means that it does not change by itself.
func (b *Budget) Room(ctx context.Context) (int, time.Time, error) {
	limit, err := b.limit(ctx)
	if err != nil {
		return 0, time.Time{}, err
	}
	known, err := b.read(ctx, b.options.Cache)
	if apierrors.IsNotFound(err) {
		return limit, time.Time{}, nil
	}
	if err != nil {
		return 0, time.Time{}, err
	}
	a := b.account(known, limit)
	return a.room(), a.next(b.options.Limits.Window), nil
}
