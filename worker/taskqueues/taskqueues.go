// Package taskqueues lists the task queues that workers poll, and asks Temporal for their pollers.
package taskqueues

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// pollsWithin is how recently a running worker must have polled. The server answers an idle poll after a minute.
const pollsWithin = 80 * time.Second

// Queue is one kind of task on one task queue.
type Queue struct {
	Name, Kind string
	Tasks      enumspb.TaskQueueType
}

// All returns the queues that the workers of an instance poll.
func All() []Queue {
	return []Queue{
		{kick.ControlPlaneQueue, "workflow", enumspb.TASK_QUEUE_TYPE_WORKFLOW},
		{kick.ControlPlaneQueue, "activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
		{kick.RemoteQueue, "activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
		{kick.FollowQueue, "activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
		{kick.BackgroundQueue, "activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
		{kick.SweepQueue, "workflow", enumspb.TASK_QUEUE_TYPE_WORKFLOW},
		{kick.SweepQueue, "activity", enumspb.TASK_QUEUE_TYPE_ACTIVITY},
	}
}

// Described is Temporal's description of a Queue.
type Described struct {
	// Pollers are the current pollers. A poller that has stopped counts for another 80 s.
	Pollers []*taskqueue.PollerInfo
	// Stats says how many tasks wait, and for how long. It is nil if the server does not report it.
	Stats *taskqueue.TaskQueueStats
}

// Describe asks Temporal for the pollers of a Queue.
func Describe(ctx context.Context, temporal workflowservice.WorkflowServiceClient, namespace string, q Queue, now time.Time) (Described, error) {
	answer, err := temporal.DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: q.Name, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}, TaskQueueType: q.Tasks,
		ReportStats: true,
	})
	if err != nil {
		return Described{}, fmt.Errorf("describe the task queue %s: %w", q.Name, err)
	}
	described := Described{Stats: answer.GetStats()}
	for _, each := range answer.GetPollers() {
		if now.Sub(each.GetLastAccessTime().AsTime()) < pollsWithin {
			described.Pollers = append(described.Pollers, each)
		}
	}
	return described, nil
}

// ErrNoWorker is wrapped by the error for a Queue without workers. The problem ends as soon as workers start.
var ErrNoWorker = errors.New("no worker")

// Unpolled returns an error if no worker polls the Queue.
func (d Described) Unpolled(q Queue) error {
	if len(d.Pollers) > 0 {
		return nil
	}
	return fmt.Errorf("%w polls the task queue %s for %s tasks", ErrNoWorker, q.Name, q.Kind)
}
