package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/ending"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// ReconcileResult answers the reconcile update.
type ReconcileResult struct {
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Completed is false when the reconcile did not end within the update's 30 seconds; the state is then the last one known.
	Completed bool `json:"completed"`
}

// reconcileTimeout bounds how long the reconcile update waits for its reconcile.
const reconcileTimeout = 30 * time.Second

// serve registers the query and the update.
func (r *kymaRun) serve(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, kick.QueryStatus, func() (view.View, error) { return r.view, nil }); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, kick.UpdateReconcile, r.reconcileNow,
		workflow.UpdateHandlerOptions{Validator: func(workflow.Context) error { return ending.Refuse(r.ending || r.stopping) }})
}

// reconcileNow asks for a reconcile that starts from now on and waits until it has ended.
func (r *kymaRun) reconcileNow(ctx workflow.Context) (ReconcileResult, error) {
	wanted := r.reconcilesStarted + 1
	r.box.Put(kick.Kick{Reason: "reconcile requested", Urgent: true})
	done := func() bool { return r.reconcilesEnded >= wanted || r.ending }
	if err := attempts.For(ctx, reconcileTimeout, "a caller waits for a reconcile to end", done); err != nil {
		return ReconcileResult{}, err
	}
	completed := r.reconcilesEnded >= wanted
	if !completed && r.ending {
		return ReconcileResult{}, ending.Refuse(r.ending)
	}
	return ReconcileResult{State: string(r.state.Last.State), Message: r.state.Last.Message, Completed: completed}, nil
}
