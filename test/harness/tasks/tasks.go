// Package tasks reads from the history of a workflow which builds did its workflow tasks, and which of them failed.
package tasks

import (
	"fmt"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// Record is what a history says of the workflow tasks of a run.
type Record struct {
	// Builds are the builds that completed them, in their order. One that completed several in a row is there once.
	Builds []string
	// Failures are those that a worker gave up, with the reason.
	Failures []Failure
}

// Failure is a workflow task that failed.
type Failure struct {
	// Event is the id of the event, Build that of the worker's build.
	Event   int64
	Build   string
	Cause   enums.WorkflowTaskFailedCause
	Message string
}

// String says it in a line.
func (f Failure) String() string {
	return fmt.Sprintf("event %d: a task of build %s failed, %s: %s", f.Event, f.Build, f.Cause, f.Message)
}

// Of reads a history. A task whose outcome the server refused because a signal came in meanwhile is no failure: the
// server gives it out again, with the signal. Of a task that failed again after it had failed or timed out, the server
// keeps no event: only the metrics of the workers say that.
func Of(history *historypb.History) Record {
	var r Record
	for _, event := range history.GetEvents() {
		if done := event.GetWorkflowTaskCompletedEventAttributes(); done != nil {
			build := done.GetWorkerVersion().GetBuildId() //nolint:staticcheck // what names it where workers are in no deployment
			if len(r.Builds) == 0 || r.Builds[len(r.Builds)-1] != build {
				r.Builds = append(r.Builds, build)
			}
		}
		if failed := event.GetWorkflowTaskFailedEventAttributes(); failed != nil && failed.GetCause() != enums.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND {
			build := failed.GetWorkerVersion().GetBuildId() //nolint:staticcheck // as above
			r.Failures = append(r.Failures, Failure{Event: event.GetEventId(), Build: build, Cause: failed.GetCause(), Message: failed.GetFailure().GetMessage()})
		}
	}
	return r
}
