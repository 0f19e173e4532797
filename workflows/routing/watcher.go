// Package routing has WatcherWorkflow. It sets up the routing of one Watcher and completes once that has settled. The
// next change starts it again.
package routing

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"k8s.io/apimachinery/pkg/types"

	activities "github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/entity"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

// Input is the input of WatcherWorkflow. Starters set Ref only (kick.Start).
type Input struct {
	Ref   kick.Ref `json:"ref"`
	Carry *Carry   `json:"carry,omitempty"`
}

// Carry is the state that a Watcher's workflow carries from run to run. It only ever gains fields: the previous
// release must be able to read it.
type Carry struct {
	entity.Carry
	// State and Message are the ones in the Watcher's status.
	State   string `json:"state,omitempty"`
	Message string `json:"message,omitempty"`
}

// Result is the answer to the reconcile update.
type Result struct {
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Completed is false if the reconcile did not end within the update's 30 seconds. The state is then the last
	// known one.
	Completed bool `json:"completed"`
}

// WatcherWorkflow works for one Watcher until its routing has settled or the Watcher is gone.
func WatcherWorkflow(ctx workflow.Context, in Input) error {
	return newRun(ctx, in).run(ctx)
}

// run is one run of WatcherWorkflow.
type run struct {
	entity.Run
	state Carry
	// continued is true if an earlier run has reconciled the Watcher.
	continued bool
	routing   *activities.Activities
}

func newRun(ctx workflow.Context, in Input) *run {
	r := &run{continued: in.Carry != nil}
	if r.continued {
		r.state = *in.Carry
	}
	r.Run = entity.NewRun(ctx, in.Ref, r.state.Carry)
	r.showState(ctx)
	return r
}

// run runs until the Watcher has settled or is gone, or the run continues as new.
func (r *run) run(ctx workflow.Context) error {
	if err := r.Serve(ctx, kick.UpdateReconcile, r.reconcileNow, nil); err != nil {
		return err
	}
	return r.Loop(ctx, entity.Loop{
		Workflow: kick.WatcherWorkflow, Input: r.input, Begun: r.continued, Step: r.reconcile, SleepsFor: r.sleepsFor,
		IsOver: func() bool { return r.RetryAt.IsZero() },
	})
}

// reconcileNow requests a new reconcile and waits until it has ended.
func (r *run) reconcileNow(ctx workflow.Context) (Result, error) {
	completed, err := r.Request(ctx, "reconcile requested", "a reconcile")
	if err != nil {
		return Result{}, err
	}
	return Result{State: r.state.State, Message: r.state.Message, Completed: completed}, nil
}

// reconcile reconciles the Watcher once. A kick that arrives from now on causes one more.
func (r *run) reconcile(ctx workflow.Context) error {
	pending, started := r.Start(ctx)
	r.View.Do("routing: "+cmp.Or(pending.Reason, "started"), started)
	in := activities.In{Ref: r.Ref, Gateways: gatewaysOf(pending)}
	var out activities.Out
	err := r.Do(ctx, kick.ControlPlaneQueue, "set up or remove the routing", &out, r.routing.ReconcileWatcher, in)
	if temporal.IsCanceledError(err) {
		return err
	}
	if err == nil {
		r.state.State, r.state.Message = string(out.State), out.Message
		r.Since = time.Time{}
	}
	r.End(ctx, started, fault.FromTemporal(err))
	r.showState(ctx)
	return nil
}

// gatewaysOf returns the Gateways that kicks named.
func gatewaysOf(pending mailbox.Pending) []types.NamespacedName {
	var named []types.NamespacedName
	for _, seen := range pending.Seen {
		if seen.Kind == activities.KindGateway {
			named = append(named, types.NamespacedName{Namespace: seen.Namespace, Name: seen.Name})
		}
	}
	return named
}

// showState copies the state into the status query's answer and the current details.
func (r *run) showState(ctx workflow.Context) {
	r.View.State, r.View.Message, r.View.LastFault = r.state.State, r.state.Message, r.Fault
	r.Show(ctx)
}

// input returns the input of the next run.
func (r *run) input() any {
	carry := r.state
	carry.Carry = r.Carried()
	return Input{Ref: r.Ref, Carry: &carry}
}

// sleepsFor returns, for people, what a sleeping run waits for.
func (r *run) sleepsFor() string {
	if !r.RetryAt.IsZero() {
		return "the next attempt: " + r.Fault.Reason
	}
	return "the rate limit before the next reconcile"
}
