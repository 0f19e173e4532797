package harness

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Run is one run of a workflow.
type Run struct {
	ID, RunID string
	// Type is the name of the workflow.
	Type   string
	Status enums.WorkflowExecutionStatus
}

// Runs are all runs in the instance's Temporal namespace that a query of visibility finds, the newest first; with an empty
// query all that there ever were, unless the retention has ended. Visibility may be behind by some seconds.
func (s *Environment) Runs(query string) []Run {
	s.T.Helper()
	var runs []Run
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: query}
	for {
		page, err := s.Temporal.ListWorkflow(s.T.Context(), request)
		require.NoError(s.T, err)
		for _, found := range page.GetExecutions() {
			runs = append(runs, Run{
				ID: found.GetExecution().GetWorkflowId(), RunID: found.GetExecution().GetRunId(), Type: found.GetType().GetName(), Status: found.GetStatus(),
			})
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return runs
		}
	}
}

// printWork prints what each open workflow waits for, and the end of its history. It leaves out sweeps.
func (s *Environment) printWork() {
	s.T.Helper()
	if s.Temporal == nil {
		return // The test has it start later.
	}
	bounded, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	page, err := s.Temporal.ListWorkflow(bounded, &workflowservice.ListWorkflowExecutionsRequest{Query: "ExecutionStatus = 'Running' AND WorkflowType != '" + kick.SweepWorkflow + "'"})
	if err != nil {
		s.T.Logf("the workflows cannot be listed: %v", err)
		return
	}
	for _, found := range page.GetExecutions() {
		id := found.GetExecution().GetWorkflowId()
		described, err := s.Temporal.DescribeWorkflow(bounded, id, "")
		if err != nil {
			s.T.Logf("workflow %s: %v", id, err)
			continue
		}
		var last []string
		events := s.Temporal.GetWorkflowHistory(bounded, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				break
			}
			last = append(last, fmt.Sprintln(event.GetEventTime().AsTime().Format("15:04:05.000"), event.GetEventType(),
				event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName(), event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName()))
		}
		const most = 100
		s.T.Logf("workflow %s\n  activities: %v\n  task: %v\n  %s", id, described.RawResponse.GetPendingActivities(), described.RawResponse.GetPendingWorkflowTask(),
			strings.Join(last[max(0, len(last)-most):], "  "))
	}
}

// HistoryOf reads the whole history of a run.
func (s *Environment) HistoryOf(run Run) *historypb.History {
	s.T.Helper()
	return s.history(run.ID, run.RunID)
}
