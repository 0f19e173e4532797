package watchers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// RemovalBudget returns the Kymas that wait for the removal budget, and how many of them may continue. It is
// implemented by *budget.Budget.
type RemovalBudget interface {
	Key() types.NamespacedName
	// Waiting returns the waiting Kymas; those that have waited longest come first.
	Waiting(ctx context.Context) ([]*v1beta2.Kyma, error)
	// Room returns how many may continue now, and when that number changes by itself.
	Room(ctx context.Context) (int, time.Time, error)
}

// budgetRequest asks whether waiting removals may continue.
type budgetRequest struct{}

type budgetQueue = workqueue.TypedRateLimitingInterface[budgetRequest]

// budgetPatience is how long a kicked Kyma has to take its place in the budget before it counts as waiting again. A
// Kyma that cannot continue for a reason of its own thus does not block the others.
const budgetPatience = time.Minute

// budgetKicks remembers when Kymas were kicked.
type budgetKicks struct {
	*watcher
	kicked map[types.UID]time.Time
}

// addRemovalBudget kicks Kymas whose removals wait for the removal budget as soon as it has room. It kicks as many as
// there is room for, those that have waited longest first.
func (w *watcher) addRemovalBudget(mgr manager.Manager) error {
	if w.RemovalBudget == nil {
		return nil
	}
	kicks := &budgetKicks{watcher: w, kicked: map[types.UID]time.Time{}}
	changed := func(b *v1beta2.RemovalBudget, q budgetQueue) {
		if w.Settings.Ours(b.Labels) {
			q.Add(budgetRequest{})
		}
	}
	return builder.TypedControllerManagedBy[budgetRequest](mgr).Named("removal-budget").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.RemovalBudget{}, handler.TypedFuncs[*v1beta2.RemovalBudget, budgetRequest]{
			CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1beta2.RemovalBudget], q budgetQueue) {
				changed(e.Object, q)
			},
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1beta2.RemovalBudget], q budgetQueue) {
				changed(e.ObjectNew, q)
			},
			DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1beta2.RemovalBudget], q budgetQueue) {
				changed(e.Object, q)
			},
		})).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Kyma{}, handler.TypedFuncs[*v1beta2.Kyma, budgetRequest]{
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1beta2.Kyma], q budgetQueue) {
				if e.ObjectOld.Status.RemovalHeldSince == nil && e.ObjectNew.Status.RemovalHeldSince != nil {
					q.Add(budgetRequest{}) // there may be room again already
				}
			},
		})).
		Complete(reconcile.TypedFunc[budgetRequest](kicks.kickWaiting))
}

// kickWaiting kicks as many waiting Kymas as there is room for.
func (w *budgetKicks) kickWaiting(ctx context.Context, _ budgetRequest) (reconcile.Result, error) {
	waiting, err := w.RemovalBudget.Waiting(ctx)
	if err != nil || len(waiting) == 0 {
		clear(w.kicked)
		return reconcile.Result{}, err
	}
	room, next, err := w.RemovalBudget.Room(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	now, still := w.Now(), map[types.UID]time.Time{}
	for _, kyma := range waiting {
		if at, was := w.kicked[kyma.UID]; was && now.Sub(at) < budgetPatience {
			still[kyma.UID] = at
			room--
		}
	}
	w.kicked = still
	for _, kyma := range waiting {
		if _, was := still[kyma.UID]; was || room <= 0 {
			continue
		}
		room--
		key, ref := w.RemovalBudget.Key(), kick.RefOf(kyma)
		deleting := !kyma.DeletionTimestamp.IsZero()
		k := kick.Kick{
			Reason: "the removal budget has room", Kind: shared.KindRemovalBudget, Namespace: key.Namespace, Name: key.Name, Urgent: true, Deleting: deleting,
		}
		if err := w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, ref, k) }); err != nil {
			return reconcile.Result{}, fmt.Errorf("kick Kyma %s: %w", ref, err)
		}
		w.kicked[kyma.UID] = now
	}
	wait := budgetPatience
	if until := next.Sub(now); !next.IsZero() && until < wait {
		wait = max(time.Second, until)
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}
