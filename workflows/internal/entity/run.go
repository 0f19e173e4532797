package entity

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/build"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// ErrTypeEnding is the type of the retryable error that an update gets from a run that is about to end. If the caller
// sends the update again, it reaches the next run.
const ErrTypeEnding = "RunIsEnding"

// IdleEvents is the history length above which an idle run continues as new.
const IdleEvents = 1000

// requestTimeout bounds how long an update waits for its reconcile.
const requestTimeout = 30 * time.Second

// Run is one run of a workflow that works for one resource. It decides when the run ends: MustContinue and NewBuild
// report whether to continue as new, and MayComplete whether to return. A signal that is unread when a run ends is
// lost, and its sender gets no error.
type Run struct {
	Entity
	// View is the answer to the status query.
	View view.View
	// Ending is true once the run is about to end. The run then refuses updates.
	Ending bool

	// Build is the build that began the run.
	Build string
}

// NewRun begins a run with the state that an earlier one carried. Call it before any other command of the workflow.
func NewRun(ctx workflow.Context, ref kick.Ref, carried Carry) Run {
	logic.Of(ctx)
	r := Run{Build: build.Of(ctx)}
	post := mailbox.New(ctx, mailbox.Pending{}, mailbox.Pending{})
	r.Entity = Entity{Ref: ref, ID: workflow.GetInfo(ctx).WorkflowExecution.ID, Post: post, Box: &post.Box, Local: &attempts.Local{}}
	r.Restore(carried)
	r.View.Of, r.View.Since = ref.String(), workflow.Now(ctx)
	return r
}

// Serve registers the status query, and an update with its validator. With a nil validator, a run refuses updates
// only if it is about to end.
func (r *Run) Serve(ctx workflow.Context, update string, handler, validator any) error {
	if err := workflow.SetQueryHandler(ctx, kick.QueryStatus, func() (view.View, error) { return r.View, nil }); err != nil {
		return err
	}
	return r.ServeUpdate(ctx, update, handler, validator)
}

// ServeUpdate registers an update. See Serve for the validator.
func (r *Run) ServeUpdate(ctx workflow.Context, update string, handler, validator any) error {
	if validator == nil {
		validator = func(workflow.Context) error { return r.Refuse() }
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, update, handler, workflow.UpdateHandlerOptions{Validator: validator})
}

// Refuse returns the error with which a run that is about to end refuses updates. It returns nil if the run is not
// about to end.
func (r *Run) Refuse() error {
	if r.Ending {
		return temporal.NewApplicationError("this run is about to end; send the update again", ErrTypeEnding)
	}
	return nil
}

// AwaitRequested waits until ended returns true, on behalf of an update. It reports whether that happened in time.
// The summary describes the wait.
func (r *Run) AwaitRequested(ctx workflow.Context, summary string, ended func() bool) (bool, error) {
	if err := attempts.For(ctx, requestTimeout, summary, func() bool { return ended() || r.Ending }); err != nil {
		return false, err
	}
	if ended() {
		return true, nil
	}
	return false, r.Refuse()
}

// Doing shows what the run does now.
func (r *Run) Doing(ctx workflow.Context, what string) {
	r.View.Do(what, workflow.Now(ctx))
	r.Show(ctx)
}

// Rest shows what the run waits for. It waits until the run is due, an operator forces it to continue as new, or also
// returns true. also may be nil.
func (r *Run) Rest(ctx workflow.Context, waitingFor string, also func() bool) error {
	r.View.Do("waiting", workflow.Now(ctx))
	r.View.WaitingFor = waitingFor
	r.Show(ctx)
	return r.Sleep(ctx, waitingFor, func() bool {
		return r.Post.Forced && workflow.AllHandlersFinished(ctx) || also != nil && also()
	})
}

// Show sets the current details, a short Markdown text for Temporal's web UI.
func (r *Run) Show(ctx workflow.Context) { workflow.SetCurrentDetails(ctx, r.View.Markdown()) }

// MustContinue reports whether the run should continue as new now. A run first answers the update handlers that wait
// for a reconcile.
func (r *Run) MustContinue(ctx workflow.Context, idle bool) bool {
	info := workflow.GetInfo(ctx)
	must := r.Post.Forced || info.GetContinueAsNewSuggested() || idle && info.GetCurrentHistoryLength() > IdleEvents
	return must && workflow.AllHandlersFinished(ctx)
}

// NewBuild reports whether a build other than the one that began this run executes it now. A run keeps the logic
// version it began with, so it continues as new before the new build acts.
func (r *Run) NewBuild(ctx workflow.Context) bool {
	return build.Of(ctx) != r.Build && workflow.AllHandlersFinished(ctx)
}

// ContinueAsNew is the only place where a run continues as new. Call it only if no handler is running (MustContinue,
// NewBuild). It waits for a workflow task in which no local activity ran: a signal that arrives in the meantime fails
// the task, and the server would execute its local activities again. Pending kicks travel in the input, so every
// channel is empty.
func (r *Run) ContinueAsNew(ctx workflow.Context, name string, input func() any) error {
	if r.Local.Ran(workflow.Now(ctx)) {
		if err := workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: "end the run in a task of its own"}).Get(ctx, nil); err != nil {
			return err
		}
	}
	r.Post.Drain()
	r.Ending = true
	return workflow.NewContinueAsNewError(ctx, name, input())
}

// MayComplete is the only place where a run decides to return. It returns true only if, in the task that returns, no
// signal is unread, no kick is pending and no handler is running. Ending then stays true. idle reports whether the
// rest of the run has nothing to do; it may be nil.
func (r *Run) MayComplete(ctx workflow.Context, idle func() bool) (bool, error) {
	quiet := func() bool {
		r.Post.Drain()
		return !r.Post.Any() && (idle == nil || idle())
	}
	if !quiet() {
		return false, nil
	}
	r.Ending = true
	if !workflow.AllHandlersFinished(ctx) {
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return false, err
		}
	}
	r.Ending = quiet()
	return r.Ending, nil
}
