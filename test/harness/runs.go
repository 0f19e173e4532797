package harness

import (
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
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

// HistoryOf reads the whole history of a run.
func (s *Environment) HistoryOf(run Run) *historypb.History {
	s.T.Helper()
	return s.history(run.ID, run.RunID)
}
