// Package routing has WatcherWorkflow: it sets up the routing of one Watcher until that has settled, and is started again by
// the next change. next.go decides what a run does next.
package routing

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	activities "github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/entity"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

// Input is the input of WatcherWorkflow. Starters set Ref only (kick.Start).
type Input struct {
	Ref   kick.Ref `json:"ref"`
	Carry *Carry   `json:"carry,omitempty"`
}

// Carry is what a Watcher's workflow carries from run to run. Fields are only ever added: the previous release must be able
// to read it.
type Carry struct {
	entity.Carry
	// State and Message are those of the Watcher's status.
	State   string `json:"state,omitempty"`
	Message string `json:"message,omitempty"`
}

// Result answers the reconcile update.
type Result struct {
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Completed is false when the reconcile did not end within the update's 30 seconds; the state is then the last one
	// known.
	Completed bool `json:"completed"`
}

// WatcherWorkflow works for one Watcher until its routing has settled, or is gone with it.
func WatcherWorkflow(ctx workflow.Context, in Input) error {
	return newRun(ctx, in).run(ctx)
}

// run is one run of WatcherWorkflow.
type run struct {
	entity.Run
	state Carry
	// reconciled is true once this workflow has reconciled the Watcher.
	reconciled bool
	routing    *activities.Activities
}

func newRun(ctx workflow.Context, in Input) *run {
	r := &run{reconciled: in.Carry != nil}
	if r.reconciled {
		r.state = *in.Carry
	}
	r.Run = entity.NewRun(ctx, in.Ref, r.state.Carry)
	r.showState(ctx)
	return r
}

// run is the life of one run: decide what to do next, do it, until the Watcher has settled or is gone.
func (r *run) run(ctx workflow.Context) error {
	if err := r.Serve(ctx, kick.UpdateReconcile, r.reconcileNow, nil); err != nil {
		return err
	}
	for {
		r.Drain()
		switch r.next(ctx) {
		case stepReconcile:
			if err := r.reconcile(ctx); err != nil {
				return err
			}
		case stepContinue:
			return r.ContinueAsNew(ctx, kick.WatcherWorkflow, r.input)
		case stepComplete:
			if done, err := r.MayComplete(ctx, nil); done || err != nil {
				return err
			}
		case stepSleep:
			if err := r.Rest(ctx, r.sleepsFor(), nil); err != nil {
				return err
			}
		}
	}
}

// reconcileNow asks for a reconcile that starts from now on and waits until it has ended.
func (r *run) reconcileNow(ctx workflow.Context) (Result, error) {
	wanted := r.Started + 1
	r.Box.Put(kick.Kick{Reason: "reconcile requested", Urgent: true})
	completed, err := r.AwaitRequested(ctx, "a caller waits for a reconcile to end", func() bool { return r.Ended >= wanted })
	if err != nil {
		return Result{}, err
	}
	return Result{State: r.state.State, Message: r.state.Message, Completed: completed}, nil
}

// reconcile is one reconcile of the Watcher. A kick that comes from now on means one more.
func (r *run) reconcile(ctx workflow.Context) error {
	pending, started := r.Start(ctx)
	r.reconciled = true
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

// gatewaysOf are the Gateways that kicks named.
func gatewaysOf(pending mailbox.Pending) []types.NamespacedName {
	var named []types.NamespacedName
	for _, seen := range pending.Seen {
		if seen.Kind == activities.KindGateway {
			named = append(named, types.NamespacedName{Namespace: seen.Namespace, Name: seen.Name})
		}
	}
	return named
}

// showState copies the state into what the query and the current details show.
func (r *run) showState(ctx workflow.Context) {
	r.View.State, r.View.Message, r.View.LastFault = r.state.State, r.state.Message, r.Fault
	r.Show(ctx)
}

// input is what the next run starts with.
func (r *run) input() any {
	carry := r.state
	carry.Carry = r.Carried()
	return Input{Ref: r.Ref, Carry: &carry}
}
