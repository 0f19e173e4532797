// Package attempts says how often and how long activities are attempted, by what an activity does: options of those that
// write, wait or walk, and Local, by which a short step is attempted within the workflow task first. For is a wait of the
// workflow itself.
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
	// heartbeatTimeout is how long a writing activity may be silent; it stops itself as soon as it could
	// not heartbeat for that long.
	heartbeatTimeout = 20 * time.Second
	// waitAttemptTimeout bounds one attempt of a wait, which ends itself after 28 s at the latest. Waits do not heartbeat, since
	// each heartbeat is a write of Temporal's: so late is a worker that died noticed.
	waitAttemptTimeout = 30 * time.Second
	// WaitDeadline is when a wait ends without news; it is then started again.
	WaitDeadline = time.Hour
)

// RetryShortly retries transient faults a few times within a minute or so; then the workflow decides.
func RetryShortly() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    time.Second,
		BackoffCoefficient: 2,
		MaximumInterval:    20 * time.Second,
		MaximumAttempts:    5,
	}
}

// Writing are the options of an activity that changes something: cancelled only together with a wait for
// its end, so that it does not still write when the next step starts. Time in the queue does not count: a step that waits
// for its turn behind others has not failed, and retrying it would only lengthen the queue.
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

// yielding is the priority in Temporal's queues of work that concerns many at once, such as a new version in the catalog. Work
// without a priority, such as that on an edit, counts as 3 of 5 and comes first. A server whose matching service does not know
// priorities serves all in the order of their arrival.
const yielding = 4

// Yielding are Writing for an activity that nobody waits for: it makes way for others in the queue.
func Yielding(ctx workflow.Context, queue, summary string) workflow.Context {
	ctx = Writing(ctx, queue, summary)
	options := workflow.GetActivityOptions(ctx)
	options.Priority.PriorityKey = yielding
	return workflow.WithActivityOptions(ctx, options)
}

// Waiting are the options of a read-only wait. Its attempts fail benignly with a delay of their own, so that waiting writes no
// history.
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

// Walking are the options of the sweep's long activity.
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
		Summary: "walk the shard and kick what differs",
	})
}

// DeadlinePassed tells whether a wait ended because its deadline passed, which is no error. The server
// then reports either the time-out or, if the next attempt would have come too late, the last benign failure.
func DeadlinePassed(err error) bool {
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		return timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE
	}
	return fault.FromTemporal(err).Kind == fault.Pending
}

// MaxSummary is well below the 400 bytes that a server takes for the summary of a timer.
const MaxSummary = 120

// For waits for a condition, but not longer than atMost. The summary describes its timer. The timer ends with the wait: the
// SDK would let it fire later, for a workflow task that does nothing.
func For(ctx workflow.Context, atMost time.Duration, summary string, condition func() bool) error {
	waiting, cancel := workflow.WithCancel(ctx)
	defer cancel()
	_, err := workflow.AwaitWithOptions(waiting, workflow.AwaitOptions{
		Timeout:      atMost,
		TimerOptions: workflow.TimerOptions{Summary: summary},
	}, condition)
	return err
}
