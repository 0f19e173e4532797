package tasks

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/history/v1"
)

func completed(id int64, build string) *history.HistoryEvent {
	return &history.HistoryEvent{EventId: id, EventType: enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, Attributes: &history.HistoryEvent_WorkflowTaskCompletedEventAttributes{
		WorkflowTaskCompletedEventAttributes: &history.WorkflowTaskCompletedEventAttributes{WorkerVersion: &common.WorkerVersionStamp{BuildId: build}}, //nolint:staticcheck // as histories have it
	}}
}

func failed(id int64, cause enums.WorkflowTaskFailedCause, message string) *history.HistoryEvent {
	return &history.HistoryEvent{EventId: id, EventType: enums.EVENT_TYPE_WORKFLOW_TASK_FAILED, Attributes: &history.HistoryEvent_WorkflowTaskFailedEventAttributes{
		WorkflowTaskFailedEventAttributes: &history.WorkflowTaskFailedEventAttributes{
			Cause: cause, Failure: &failure.Failure{Message: message}, WorkerVersion: &common.WorkerVersionStamp{BuildId: "new"}, //nolint:staticcheck // as histories have it
		},
	}}
}

func TestARecordSaysWhoDidTheTasksAndWhichFailed(t *testing.T) {
	r := Of(&history.History{Events: []*history.HistoryEvent{
		{EventId: 1, EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED},
		completed(4, "old"), completed(8, "old"), completed(12, "new"),
		failed(15, enums.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR, "lookup failed for scheduledEventID to activityID"),
		completed(19, "old"),
	}})
	require.Equal(t, []string{"old", "new", "old"}, r.Builds)
	require.Len(t, r.Failures, 1)
	require.Equal(t, "event 15: a task of build new failed, NonDeterministicError: lookup failed for scheduledEventID to activityID", r.Failures[0].String())
}

func TestEveryFailureCountsButThatOfATaskThatASignalOverran(t *testing.T) {
	r := Of(&history.History{Events: []*history.HistoryEvent{
		failed(3, enums.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, "UnhandledCommand"),
		failed(6, enums.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE, "panic"),
	}})
	require.Empty(t, r.Builds)
	require.Len(t, r.Failures, 1)
	require.Equal(t, int64(6), r.Failures[0].Event)
}
