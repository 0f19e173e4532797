package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
)

// do takes a step that is usually short: see attempts.Local. A cluster that did not answer last time is not asked while a
// workflow task waits for it.
func (e *entity) do(ctx workflow.Context, queue, summary string, answer, activity, input any) error {
	return e.local.Do(ctx, attempts.Step{
		Queue: queue, Summary: summary, Logic: e.logic, Activity: activity, Input: input, Answer: answer,
		Unreachable: queue == kick.RemoteQueue && e.fault.Kind == fault.Unreachable,
	})
}
