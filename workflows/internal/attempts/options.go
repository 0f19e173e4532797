// Package attempts has the options of activities, by kind: Writing, Yielding, Waiting and Walking. Local attempts a
// short step within the workflow task before it schedules an activity. For waits in the workflow itself.
package attempts

import (
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

const (
	// stepTimeout bounds one attempt of an activity that writes.
	stepTimeout = 2 * time.Minute
	// heartbeatTimeout is how long a writing activity may go without a heartbeat. The activity stops itself if it
	// could not send one for that long.
	heartbeatTimeout = 20 * time.Second
	// waitAttemptTimeout bounds one attempt of a wait. The attempt ends itself after at most 28 s. Waits send no
	// heartbeats, because each one is a write in Temporal's database. So the server notices a dead worker only after
	// this timeout.
	waitAttemptTimeout = 30 * time.Second
	// WaitDeadline is when a wait ends without news. The workflow then starts it again.
	WaitDeadline = time.Hour
)

// RetryShortly retries transient faults a few times within about a minute. After that the workflow decides.
func RetryShortly() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    time.Second,
		BackoffCoefficient: 2,
		MaximumInterval:    20 * time.Second,
		MaximumAttempts:    5,
	}
}

// Writing sets the options of an activity that changes something. Cancellation waits for the activity to end, so that
// it cannot write while the next step runs. Time in the queue does not count against a timeout: a step in a long
// queue has not failed, and a retry would only make the queue longer.
func Writing(ctx workflow.Context, queue, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           queue,
		StartToCloseTimeout: stepTimeout,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy:         RetryShortly(),
		Summary:             summary,
	})
}

// yielding is the task queue priority of work that a change for many Kymas causes, such as a new version in the
// catalog. Work without a priority, such as work for an edit, counts as 3 of 5 and comes first. A server without
// support for priorities serves all tasks in order of arrival.
const yielding = 4

// Yielding sets the options of Writing, with a lower priority, for an activity that no user waits for.
func Yielding(ctx workflow.Context, queue, summary string) workflow.Context {
	ctx = Writing(ctx, queue, summary)
	options := workflow.GetActivityOptions(ctx)
	options.Priority.PriorityKey = yielding
	return workflow.WithActivityOptions(ctx, options)
}

// Waiting sets the options of a read-only wait. Its attempts fail as benign errors with their own retry delay, so
// waiting writes no history.
func Waiting(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              kick.FollowQueue,
		StartToCloseTimeout:    waitAttemptTimeout,
		ScheduleToCloseTimeout: WaitDeadline,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 1.5,
			MaximumInterval:    30 * time.Second,
		},
		Summary: summary,
	})
}

// Walking sets the options of the sweep's long activity.
func Walking(ctx workflow.Context, interval time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           kick.SweepQueue,
		StartToCloseTimeout: 2*interval + time.Minute,
		HeartbeatTimeout:    30 * time.Second,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    time.Second,
			BackoffCoefficient: 2,
			MaximumInterval:    time.Minute,
		},
		Summary: "walk the shard and kick Kymas that differ from their desired state",
	})
}

// DeadlinePassed reports whether a wait ended because its deadline passed, which is not an error. The server then
// reports a timeout or, if the next attempt would have come too late, the last benign failure.
func DeadlinePassed(err error) bool {
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		return timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE
	}
	return fault.FromTemporal(err).Kind == fault.Pending
}

// MaxSummary is the maximum length of a summary. The server accepts 400 bytes for the summary of a timer.
const MaxSummary = 120

// For waits until condition is true, for at most atMost. The summary describes its timer. For cancels the timer when
// the wait ends. Otherwise the timer would fire later and cause an empty workflow task.
func For(ctx workflow.Context, atMost time.Duration, summary string, condition func() bool) error {
	waiting, cancel := workflow.WithCancel(ctx)
	defer cancel()
	_, err := workflow.AwaitWithOptions(waiting, workflow.AwaitOptions{
		Timeout:      atMost,
		TimerOptions: workflow.TimerOptions{Summary: summary},
	}, condition)
	return err
}
