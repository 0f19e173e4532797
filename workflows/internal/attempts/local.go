package attempts

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const (
	// localTimeout bounds the local attempt of a step, in the worker that executes the workflow task.
	localTimeout = 3 * time.Second
	// installTimeout bounds the local attempt to install modules, which need more requests than other steps.
	installTimeout = 4 * time.Second
	// localBudget bounds the local attempts of one workflow task together, so that none outlives its task. The server
	// counts a task as lost after 10 s and may give it to another worker. After 8 s the SDK would ask for another
	// task to continue a running local activity. Decisions that depend on the time would then differ in a replay.
	localBudget = 7 * time.Second
)

// Local records when the local attempts of the current workflow task began and ended. Within a task, the workflow's
// clock advances only when a local attempt ends.
type Local struct {
	began, ended time.Time
}

// Ran reports whether a local attempt ended in the current workflow task.
func (l *Local) Ran(now time.Time) bool { return now.Equal(l.ended) }

// mayAttempt reports whether a step that takes at most atMost may be attempted locally.
func (l *Local) mayAttempt(now time.Time, atMost time.Duration) bool {
	if !now.Equal(l.ended) {
		l.began = now // a new task has begun
	}
	return now.Sub(l.began)+atMost <= localBudget
}

// Install attempts to install modules within the workflow task. It reports whether it succeeded. If not, the caller
// has to schedule activities that install them.
func (l *Local) Install(ctx workflow.Context, summary string, activity, input, answer any) bool {
	if !l.mayAttempt(workflow.Now(ctx), installTimeout) {
		return false
	}
	err := workflow.ExecuteLocalActivity(locally(ctx, summary, installTimeout), activity, input).Get(ctx, answer)
	l.ended = workflow.Now(ctx)
	return err == nil
}

// Step is a short step.
type Step struct {
	// Queue is the task queue for the step after its local attempt failed.
	Queue, Summary string
	// Unreachable is true if the remote cluster of this step did not answer last time.
	Unreachable bool
	// Activity runs with Input and stores its result in Answer, a pointer.
	Activity, Input, Answer any
}

// Do takes a step that is usually short, such as a read of the control plane or of a remote cluster that answers. The
// first attempt is a local activity in the worker that executes the workflow task. This writes one event of history
// and needs no task queue. If the attempt fails with a retryable fault or takes too long, Do schedules a normal
// activity with its own timeout, heartbeats and retries. If the cluster did not answer last time, Do schedules that
// activity right away, so that no workflow task waits for the cluster.
func (l *Local) Do(ctx workflow.Context, s Step) error {
	if s.Unreachable || !l.mayAttempt(workflow.Now(ctx), localTimeout) {
		return workflow.ExecuteActivity(Writing(ctx, s.Queue, s.Summary), s.Activity, s.Input).Get(ctx, s.Answer)
	}
	err := workflow.ExecuteLocalActivity(locally(ctx, s.Summary, localTimeout), s.Activity, s.Input).Get(ctx, s.Answer)
	l.ended = workflow.Now(ctx)
	wait, again := againAfterLocal(err)
	if !again || ctx.Err() != nil {
		return err
	}
	if wait > 0 {
		if err := workflow.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	return workflow.ExecuteActivity(afterLocal(ctx, s.Queue, s.Summary), s.Activity, s.Input).Get(ctx, s.Answer)
}

// locally sets the options of a local attempt.
func locally(ctx workflow.Context, summary string, timeout time.Duration) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: timeout,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                summary,
	})
}

// afterLocal sets the options of a step that has used one attempt.
func afterLocal(ctx workflow.Context, queue, summary string) workflow.Context {
	ctx = Writing(ctx, queue, summary)
	options := workflow.GetActivityOptions(ctx)
	options.RetryPolicy.MaximumAttempts--
	return workflow.WithActivityOptions(ctx, options)
}

// againAfterLocal reports whether to retry a step whose local attempt ended with err, and returns how long to wait
// before the retry.
func againAfterLocal(err error) (time.Duration, bool) {
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return 0, false
	case !errors.As(err, &app):
		return 0, true // it timed out, the worker stopped, or it panicked
	case fault.FromTemporal(err).Reason == clusters.ReasonUnreachableTimeout:
		return 0, true // perhaps only the timeout of the local attempt
	case app.NonRetryable():
		return 0, false
	case app.NextRetryDelay() > 0:
		return app.NextRetryDelay(), true
	default:
		return RetryShortly().InitialInterval, true
	}
}
