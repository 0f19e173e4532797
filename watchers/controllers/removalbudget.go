package controllers

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// RemovalBudget is the removal budget of the instance. It is implemented by *budget.Budget.
type RemovalBudget interface {
	// Keep updates the status, and returns when to update it again.
	Keep(ctx context.Context) (time.Duration, error)
	// Approves reports whether a catalog change was approved. noted is true if the changed object itself records the
	// approval.
	Approves(ctx context.Context, change string, noted bool) (bool, error)
}

// budgetRequest asks for an update of the RemovalBudget's status.
type budgetRequest struct{}

type budgetQueue = workqueue.TypedRateLimitingInterface[budgetRequest]

// keepAfter is how long events are collected for one status write, because thousands of Kymas may begin to wait at
// once.
const keepAfter = 2 * time.Second

// addRemovalBudget maintains the status of the RemovalBudget: how many Kymas wait, and what counts within the window.
func (c *controllers) addRemovalBudget(mgr manager.Manager) error {
	if c.budget == nil {
		return nil
	}
	changed := func(budget *v1beta2.RemovalBudget, q budgetQueue) {
		if c.settings.Ours(budget.Labels) {
			q.AddAfter(budgetRequest{}, keepAfter)
		}
	}
	return builder.TypedControllerManagedBy[budgetRequest](mgr).Named("removal-budget-status").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.RemovalBudget{}, handler.TypedFuncs[*v1beta2.RemovalBudget, budgetRequest]{
			CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1beta2.RemovalBudget], q budgetQueue) {
				changed(e.Object, q)
			},
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1beta2.RemovalBudget], q budgetQueue) {
				changed(e.ObjectNew, q)
			},
		})).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Kyma{}, handler.TypedFuncs[*v1beta2.Kyma, budgetRequest]{
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1beta2.Kyma], q budgetQueue) {
				if !e.ObjectOld.Status.RemovalHeldSince.Equal(e.ObjectNew.Status.RemovalHeldSince) {
					q.AddAfter(budgetRequest{}, keepAfter)
				}
			},
			DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1beta2.Kyma], q budgetQueue) {
				if e.Object.Status.RemovalHeldSince != nil {
					q.AddAfter(budgetRequest{}, keepAfter)
				}
			},
		})).
		Complete(reconcile.TypedFunc[budgetRequest](func(ctx context.Context, _ budgetRequest) (reconcile.Result, error) {
			again, err := c.budget.Keep(ctx)
			return reconcile.Result{RequeueAfter: again}, err
		}))
}
