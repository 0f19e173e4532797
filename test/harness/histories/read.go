package histories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Run is one run of a workflow, with its history as it was when it was read.
type Run struct {
	ID, RunID string
	Status    enumspb.WorkflowExecutionStatus
	Started   time.Time
	History   *historypb.History
}

// ErrBehind is the error of a reading that misses runs: Temporal's visibility shows them a little later. Read again.
var ErrBehind = errors.New("visibility does not show all runs yet")

// Read reads all runs of the workflow with this id, the oldest first: those of which one continued as new in the next, and
// those that were started after the one before had completed. Its error is ErrBehind where some are known to be missing,
// and serviceerror.NotFound where there is no such workflow.
func Read(ctx context.Context, temporal client.Client, id string) ([]Run, error) {
	// The server's own record of the newest run is never behind.
	newest, err := temporal.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return nil, fmt.Errorf("describe workflow %s: %w", id, err)
	}
	runs, err := list(ctx, temporal, id)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		if runs[i].History, err = history(ctx, temporal, id, runs[i].RunID); err != nil {
			return nil, err
		}
	}
	if missing := missing(runs, newest.WorkflowExecution.RunID); missing != "" {
		return nil, fmt.Errorf("%w: run %s of workflow %s", ErrBehind, missing, id)
	}
	return runs, nil
}

// list finds the runs by Temporal's visibility, without their histories.
func list(ctx context.Context, temporal client.Client, id string) ([]Run, error) {
	var runs []Run
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = '%s'", id)}
	for {
		page, err := temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list the runs of workflow %s: %w", id, err)
		}
		for _, execution := range page.GetExecutions() {
			runs = append(runs, Run{
				ID: id, RunID: execution.GetExecution().GetRunId(), Status: execution.GetStatus(), Started: execution.GetStartTime().AsTime(),
			})
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			slices.SortFunc(runs, func(a, b Run) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.RunID, b.RunID)) })
			return runs, nil
		}
	}
}

func history(ctx context.Context, temporal client.Client, id, runID string) (*historypb.History, error) {
	all := &historypb.History{}
	events := temporal.GetWorkflowHistory(ctx, id, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, fmt.Errorf("read the history of workflow %s: %w", id, err)
		}
		all.Events = append(all.Events, event)
	}
	return all, nil
}

// missing is the id of a run that is known of and not among these; empty where there is none.
func missing(runs []Run, newest string) string {
	known := []string{newest}
	for _, run := range runs {
		known = append(known, run.continues(), run.continuedBy())
	}
	for _, id := range known {
		if id != "" && !slices.ContainsFunc(runs, func(run Run) bool { return run.RunID == id }) {
			return id
		}
	}
	return ""
}

// continues is the run that continued as new in this one; empty where none did.
func (r Run) continues() string {
	if len(r.History.GetEvents()) == 0 {
		return ""
	}
	return r.History.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
}

// continuedBy is the run in which this one continued as new; empty where it did not.
func (r Run) continuedBy() string {
	if len(r.History.GetEvents()) == 0 {
		return ""
	}
	return r.History.GetEvents()[len(r.History.GetEvents())-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
}

// String says for people what began the run and how it ended.
func (r Run) String() string {
	began := "started"
	if before := r.continues(); before != "" {
		began = "continues run " + before
	}
	for _, event := range r.History.GetEvents() {
		signal := event.GetWorkflowExecutionSignaledEventAttributes()
		if signal == nil {
			continue
		}
		var k kick.Kick
		if err := converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), &k); err == nil && k.Reason != "" {
			began += fmt.Sprintf(", first %s: %q", signal.GetSignalName(), k.Reason)
			break
		}
	}
	return fmt.Sprintf("run %s, %s, %s, %d events", r.RunID, began, r.Status, len(r.History.GetEvents()))
}
