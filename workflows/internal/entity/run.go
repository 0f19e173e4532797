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

// ErrTypeEnding is the type of the retryable error with which an update is refused by a run that is about to end. The caller
// repeats the update and reaches the next run.
const ErrTypeEnding = "RunIsEnding"

// IdleEvents is the length of history from which an idle run continues as new.
const IdleEvents = 1000

// requestTimeout bounds how long an update waits for its reconcile.
const requestTimeout = 30 * time.Second

// Run is one run of a workflow that works for one resource. It decides when a run ends: MustContinue and NewBuild when it
// continues as new, MayComplete whether it may return. A signal that is still unread when a run ends is lost without an error at
// its sender.
type Run struct {
	Entity
	// View is what the run shows of itself.
	View view.View
	// Ending is true once the run is about to end: it refuses updates.
	Ending bool

	// Build is the build that began the run.
	Build string
}

// NewRun begins a run with what an earlier one carried. Call it before any other command of the workflow.
func NewRun(ctx workflow.Context, ref kick.Ref, carried Carry) Run {
	logic.Of(ctx)
	r := Run{Build: build.Of(ctx)}
	post := mailbox.New(ctx, mailbox.Pending{}, mailbox.Pending{})
	r.Entity = Entity{Ref: ref, ID: workflow.GetInfo(ctx).WorkflowExecution.ID, Post: post, Box: &post.Box, Local: &attempts.Local{}}
	r.Restore(carried)
	r.View.Of, r.View.Since = ref.String(), workflow.Now(ctx)
	return r
}

// Serve registers the status query and an update, with the update's validator. A validator of nil refuses updates only from a run
// that is about to end.
func (r *Run) Serve(ctx workflow.Context, update string, handler, validator any) error {
	if err := workflow.SetQueryHandler(ctx, kick.QueryStatus, func() (view.View, error) { return r.View, nil }); err != nil {
		return err
	}
	return r.ServeUpdate(ctx, update, handler, validator)
}

// ServeUpdate registers an update, as Serve does.
func (r *Run) ServeUpdate(ctx workflow.Context, update string, handler, validator any) error {
	if validator == nil {
		validator = func(workflow.Context) error { return r.Refuse() }
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, update, handler, workflow.UpdateHandlerOptions{Validator: validator})
}

// Refuse returns the error with which an update is refused by a run that is about to end.
func (r *Run) Refuse() error {
	if r.Ending {
		return temporal.NewApplicationError("this run is about to end, try again", ErrTypeEnding)
	}
	return nil
}

// AwaitRequested waits until what an update asked for has ended, and reports whether it ended in time. The summary describes the
// wait.
func (r *Run) AwaitRequested(ctx workflow.Context, summary string, ended func() bool) (bool, error) {
	if err := attempts.For(ctx, requestTimeout, summary, func() bool { return ended() || r.Ending }); err != nil {
		return false, err
	}
	if ended() {
		return true, nil
	}
	return false, r.Refuse()
}

// Doing shows what the run does from now on.
func (r *Run) Doing(ctx workflow.Context, what string) {
	r.View.Do(what, workflow.Now(ctx))
	r.Show(ctx)
}

// Rest shows what the run waits for, and waits until it is due, an operator forces it to continue as new, or also is true; also may
// be nil.
func (r *Run) Rest(ctx workflow.Context, waitingFor string, also func() bool) error {
	r.View.Do("waiting", workflow.Now(ctx))
	r.View.WaitingFor = waitingFor
	r.Show(ctx)
	return r.Sleep(ctx, waitingFor, func() bool {
		return r.Post.Forced && workflow.AllHandlersFinished(ctx) || also != nil && also()
	})
}

// Show sets the current details, a short Markdown text for Temporal's web interface.
func (r *Run) Show(ctx workflow.Context) { workflow.SetCurrentDetails(ctx, r.View.Markdown()) }

// MustContinue tells whether the run should continue as new now. An update handler that waits gets its reconcile from this run
// first.
func (r *Run) MustContinue(ctx workflow.Context, idle bool) bool {
	info := workflow.GetInfo(ctx)
	must := r.Post.Forced || info.GetContinueAsNewSuggested() || idle && info.GetCurrentHistoryLength() > IdleEvents
	return must && workflow.AllHandlersFinished(ctx)
}

// NewBuild tells whether another build than the one that began this run executes it now. A sleeping run keeps the logic version it
// was started with, so it continues as new before it acts.
func (r *Run) NewBuild(ctx workflow.Context) bool {
	return build.Of(ctx) != r.Build && workflow.AllHandlersFinished(ctx)
}

// ContinueAsNew is the one place where a run continues as new. It is decided on only while no handler is running (MustContinue,
// NewBuild). It goes on in a workflow task in which no local activity ran: a signal that comes in meanwhile fails the task, and its
// local activities would be executed again. What is pending travels with the input, so that every channel is empty.
func (r *Run) ContinueAsNew(ctx workflow.Context, name string, input func() any) error {
	if r.Local.Ran(workflow.Now(ctx)) {
		if err := workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: "the end of the run"}).Get(ctx, nil); err != nil {
			return err
		}
	}
	r.Post.Drain()
	r.Ending = true
	return workflow.NewContinueAsNewError(ctx, name, input())
}

// MayComplete is the one place where a run decides that it may return. It is true only if, in the very task that returns, no signal
// is unread, no kick is pending and no handler is running. Then Ending stays true. Idle reports whether nothing else of the run is
// at work; it may be nil.
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
