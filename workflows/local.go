package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
)

const (
	// localTimeout bounds the try of a step in the worker that does the workflow task.
	localTimeout = 3 * time.Second
	// localBudget bounds all such tries of one workflow task. A task counts as lost after 10 s, and another worker may
	// begin with the same: no try outlives its task. After 8 s the SDK would ask for another task for what is still under
	// way, and what is decided by the time would not be so in a replay.
	localBudget = 7 * time.Second
)

// localTries is when the steps of the present workflow task began that were tried in its worker, and when they ended. The
// time of a workflow moves on within a task only at the end of such a try.
type localTries struct {
	began, ended time.Time
}

// mayTry tells whether another step may be tried.
func (l *localTries) mayTry(now time.Time) bool {
	if !now.Equal(l.ended) {
		l.began = now // another task began since
	}
	return now.Sub(l.began)+localTimeout <= localBudget
}

// do takes a step that is short as a rule, such as a look at the control plane or at a remote cluster that answers. It is
// tried as a local activity, in the worker that does the workflow task: that writes one event of history, and asks
// nothing of Temporal's queues. Where this fails for the moment or takes too long, the step is taken as an activity of the
// queue, with time, heartbeats and tries of its own. A cluster that did not answer last time is not asked while a
// workflow task waits for it.
func (e *entity) do(ctx workflow.Context, queue, summary string, answer, activity, input any) error {
	unreachable := queue == kick.RemoteQueue && e.fault.Kind == fault.Unreachable
	if e.logic < logicLocalSteps || unreachable || !e.local.mayTry(workflow.Now(ctx)) {
		return workflow.ExecuteActivity(writing(ctx, queue, summary), activity, input).Get(ctx, answer)
	}
	err := workflow.ExecuteLocalActivity(locally(ctx, summary), activity, input).Get(ctx, answer)
	e.local.ended = workflow.Now(ctx)
	wait, again := againAfterLocal(err, e.logic)
	if !again || ctx.Err() != nil {
		return err
	}
	if wait > 0 {
		if err := workflow.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	return workflow.ExecuteActivity(afterLocal(ctx, queue, summary), activity, input).Get(ctx, answer)
}

// locally are the options of a step's try in the worker of the workflow task.
func locally(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: localTimeout,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                summary,
	})
}

// afterLocal are the options of a step that was tried once.
func afterLocal(ctx workflow.Context, queue, summary string) workflow.Context {
	ctx = writing(ctx, queue, summary)
	options := workflow.GetActivityOptions(ctx)
	options.RetryPolicy.MaximumAttempts--
	return workflow.WithActivityOptions(ctx, options)
}

// againAfterLocal tells whether a step whose first try ended with err is tried again, and when.
func againAfterLocal(err error, logic workflow.Version) (time.Duration, bool) {
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return 0, false
	case !errors.As(err, &app):
		return 0, true // its time was over, the worker stopped, or it panicked
	case logic >= logicBackground && fault.FromTemporal(err).Reason == clusters.ReasonUnreachableTimeout:
		return 0, true // what cut the request short may be the try's own time
	case app.NonRetryable():
		return 0, false
	case app.NextRetryDelay() > 0:
		return app.NextRetryDelay(), true
	default:
		return retryShortly().InitialInterval, true
	}
}
