// Package attempt tells an activity how often its step was tried.
package attempt

import (
	"context"

	"go.temporal.io/sdk/activity"
)

// Of returns which try of its step an activity is, from 1 on; outside of an activity it is 1. An activity of a task
// queue follows one in the worker of the workflow task, which was the first try (workflows, entity.do). One that was
// scheduled by a workflow of earlier logic counts a try too many.
func Of(ctx context.Context) int32 {
	if !activity.IsActivity(ctx) {
		return 1
	}
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		return info.Attempt
	}
	return info.Attempt + 1
}
