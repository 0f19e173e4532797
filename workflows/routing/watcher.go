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
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/build"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/ending"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/pace"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// Input is the input of WatcherWorkflow. Starters set Ref only (kick.Start).
type Input struct {
	Ref   kick.Ref `json:"ref"`
	Carry *Carry   `json:"carry,omitempty"`
}

// Carry is what a Watcher's workflow carries from run to run. Fields are only ever added: the previous release must be able
// to read it.
type Carry struct {
	// Format is the version of the carried type.
	Format  int             `json:"format"`
	Pending mailbox.Pending `json:"pending,omitzero"`
	Later   mailbox.Pending `json:"later,omitzero"`
	Pace    pace.Pace       `json:"pace,omitzero"`
	// Attempt counts failed reconciles since the last one that succeeded.
	Attempt int `json:"attempt,omitempty"`
	// RetryAt is when a failed reconcile is retried; zero means by a kick only.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Fault is the last fault.
	Fault fault.Fault `json:"fault,omitzero"`
	// State and Message are those of the Watcher's status.
	State   string `json:"state,omitempty"`
	Message string `json:"message,omitempty"`
}

// carryFormat is the present format of Carry.
const carryFormat = 1

// Result answers the reconcile update.
type Result struct {
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Completed is false when the reconcile did not end within the update's 30 seconds; the state is then the last one
	// known.
	Completed bool `json:"completed"`
}

// reconcileTimeout bounds how long the reconcile update waits for its reconcile.
const reconcileTimeout = 30 * time.Second

// WatcherWorkflow works for one Watcher until its routing has settled, or is gone with it.
func WatcherWorkflow(ctx workflow.Context, in Input) error {
	return newRun(ctx, in).run(ctx)
}

// run is one run of WatcherWorkflow.
type run struct {
	ref   kick.Ref
	id    string
	build string
	mail  *mailbox.Mailbox
	state Carry
	local attempts.Local
	// reconciled is true once this workflow has reconciled the Watcher.
	reconciled     bool
	urgent         bool
	started, ended int
	ending         bool
	view           view.View
	routing        *activities.Activities
}

func newRun(ctx workflow.Context, in Input) *run {
	logic.Of(ctx)
	r := &run{ref: in.Ref, id: workflow.GetInfo(ctx).WorkflowExecution.ID, build: build.Of(ctx)}
	if in.Carry != nil {
		r.state, r.reconciled = *in.Carry, true
	}
	r.mail = mailbox.New(ctx, r.state.Pending, r.state.Later)
	r.view.Of, r.view.Since = r.ref.String(), workflow.Now(ctx)
	r.showState()
	workflow.SetCurrentDetails(ctx, r.view.Markdown())
	return r
}

// run is the life of one run: decide what to do next, do it, until the Watcher has settled or is gone.
func (r *run) run(ctx workflow.Context) error {
	if err := r.serve(ctx); err != nil {
		return err
	}
	for {
		r.mail.Drain()
		switch r.next(ctx) {
		case stepReconcile:
			if err := r.reconcile(ctx); err != nil {
				return err
			}
		case stepContinue:
			return ending.AsNew(ctx, r.mail, &r.ending, kick.WatcherWorkflow, r.input)
		case stepComplete:
			if done, err := ending.Quietly(ctx, r.mail, &r.ending, func() bool { return true }); done || err != nil {
				return err
			}
		case stepSleep:
			if err := r.sleep(ctx); err != nil {
				return err
			}
		}
	}
}

// serve registers the query and the update.
func (r *run) serve(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, kick.QueryStatus, func() (view.View, error) { return r.view, nil }); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, kick.UpdateReconcile, r.reconcileNow,
		workflow.UpdateHandlerOptions{Validator: func(workflow.Context) error { return ending.Refuse(r.ending) }})
}

// reconcileNow asks for a reconcile that starts from now on and waits until it has ended.
func (r *run) reconcileNow(ctx workflow.Context) (Result, error) {
	wanted := r.started + 1
	r.mail.Put(kick.Kick{Reason: "reconcile requested", Urgent: true})
	done := func() bool { return r.ended >= wanted || r.ending }
	if err := attempts.For(ctx, reconcileTimeout, "a caller waits for a reconcile to end", done); err != nil {
		return Result{}, err
	}
	if r.ended < wanted && r.ending {
		return Result{}, ending.Refuse(r.ending)
	}
	return Result{State: r.state.State, Message: r.state.Message, Completed: r.ended >= wanted}, nil
}

// reconcile is one reconcile of the Watcher. A kick that comes from now on means one more.
func (r *run) reconcile(ctx workflow.Context) error {
	r.started++
	pending, started := r.mail.Take(), workflow.Now(ctx)
	r.reconciled, r.urgent = true, pending.Urgent
	r.view.Do("routing: "+cmp.Or(pending.Reason, "started"), started)
	in := activities.In{Ref: r.ref, Gateways: gatewaysOf(pending)}
	var out activities.Out
	err := r.local.Do(ctx, attempts.Step{
		Queue: kick.ControlPlaneQueue, Summary: "set up or remove the routing",
		Activity: r.routing.ReconcileWatcher, Input: in, Answer: &out,
	})
	if temporal.IsCanceledError(err) {
		return err
	}
	if err == nil {
		r.state.State, r.state.Message = string(out.State), out.Message
	}
	r.end(ctx, started, fault.FromTemporal(err))
	r.showState()
	workflow.SetCurrentDetails(ctx, r.view.Markdown())
	return nil
}

// end ends a reconcile and decides what follows from its fault.
func (r *run) end(ctx workflow.Context, started time.Time, f fault.Fault) {
	now := workflow.Now(ctx)
	r.ended = r.started
	r.state.Pace = r.state.Pace.After(started, now, r.urgent)
	r.state.RetryAt, r.state.Fault = time.Time{}, f
	if f.IsZero() {
		r.state.Attempt = 0
		return
	}
	r.state.Attempt++
	if wait, again := pace.Backoff(f, r.state.Attempt, r.id); again {
		r.state.RetryAt = now.Add(wait)
	}
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

// showState copies into what the query and the current details show.
func (r *run) showState() {
	r.view.State, r.view.Message, r.view.LastFault = r.state.State, r.state.Message, r.state.Fault
}

// input is what the next run starts with.
func (r *run) input() any {
	carry := r.state
	carry.Format, carry.Pending, carry.Later = carryFormat, r.mail.Pending, r.mail.Later
	return Input{Ref: r.ref, Carry: &carry}
}
