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
	// localBudget bounds all local attempts of one workflow task. A task counts as lost after 10 s, and another worker
	// may start the same: no attempt outlives its task. After 8 s the SDK would ask for another task for what is still
	// running, and decisions by the time would be others in a replay.
	localBudget = 7 * time.Second
)

// Local is when the local attempts of the present workflow task began and ended. The time of a workflow advances
// within a task only at the end of such an attempt.
type Local struct {
	began, ended time.Time
}

// Ran reports whether a local attempt ended in the present workflow task.
func (l *Local) Ran(now time.Time) bool { return now.Equal(l.ended) }

// mayAttempt reports whether another step, which takes at most so long, may be attempted locally.
func (l *Local) mayAttempt(now time.Time, atMost time.Duration) bool {
	if !now.Equal(l.ended) {
		l.began = now // another task began since
	}
	return now.Sub(l.began)+atMost <= localBudget
}

// Install attempts to install modules within the workflow task. It reports whether there is an answer: if not, they have to be
// installed by activities of a queue.
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
	// Queue is where it is taken from when its local attempt failed.
	Queue, Summary string
	// Unreachable is true where the remote cluster that it asks did not answer last time.
	Unreachable bool
	// Activity with its Input, and a pointer to the Answer.
	Activity, Input, Answer any
}

// Do takes a step that is usually short, such as a read of the control plane or of a remote cluster that answers. Its first
// attempt is a local activity, in the worker that executes the workflow task: that writes one event of history, and uses
// none of Temporal's queues. Where this fails with a retryable fault or takes too long, the step is taken as an activity
// of the queue, with a timeout, heartbeats and attempts of its own. A cluster that did not answer last time is not asked
// while a workflow task waits for it.
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

// locally are the options of a step's local attempt.
func locally(ctx workflow.Context, summary string, timeout time.Duration) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: timeout,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                summary,
	})
}

// afterLocal are the options of a step that was attempted once.
func afterLocal(ctx workflow.Context, queue, summary string) workflow.Context {
	ctx = Writing(ctx, queue, summary)
	options := workflow.GetActivityOptions(ctx)
	options.RetryPolicy.MaximumAttempts--
	return workflow.WithActivityOptions(ctx, options)
}

// againAfterLocal tells whether a step whose local attempt ended with err is retried, and when.
func againAfterLocal(err error) (time.Duration, bool) {
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return 0, false
	case !errors.As(err, &app):
		return 0, true // it timed out, the worker stopped, or it panicked
	case fault.FromTemporal(err).Reason == clusters.ReasonUnreachableTimeout:
		return 0, true // what cut the request short may be the local attempt's own timeout
	case app.NonRetryable():
		return 0, false
	case app.NextRetryDelay() > 0:
		return app.NextRetryDelay(), true
	default:
		return RetryShortly().InitialInterval, true
	}
}
