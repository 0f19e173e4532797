package histories

import (
	"log/slog"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Replay replays the history of a run under the ids that it had: how long a workflow waits before its next attempt depends on
// its id, which the SDK would make up. The error is that of the first decision that differs.
func Replay(replayer worker.WorkflowReplayer, history *historypb.History) error {
	var original workflow.Execution
	if events := history.GetEvents(); len(events) > 0 {
		started := events[0].GetWorkflowExecutionStartedEventAttributes()
		original = workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()}
	}
	silent := log.NewStructuredLogger(slog.New(slog.DiscardHandler)) // what it would say is the error
	return replayer.ReplayWorkflowHistoryWithOptions(silent, history, worker.ReplayWorkflowHistoryOptions{OriginalExecution: original})
}
