package sweep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
)

// pageSize is the number of workflows per visibility request.
const pageSize = 1000

// Visibility knows the open workflows: all of them by Temporal's visibility, which is asked once for all shards of a
// worker, and a single one by the server's own record of it.
type Visibility struct {
	temporal client.Client
	maxAge   time.Duration
	now      func() time.Time

	mu   sync.Mutex
	read time.Time
	open Open
}

// NewVisibility returns a Visibility whose lists are at most maxAge old.
func NewVisibility(temporal client.Client, maxAge time.Duration) *Visibility {
	return &Visibility{temporal: temporal, maxAge: maxAge, now: time.Now}
}

// OpenWorkflows implements the interface of that name. The answer is shared: do not change it.
func (v *Visibility) OpenWorkflows(ctx context.Context, since time.Time) (Open, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open != nil && v.now().Sub(v.read) < v.maxAge && !v.read.Before(since) {
		return v.open, nil
	}
	read, open := v.now(), Open{}
	request := &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: pageSize,
		Query:    fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", kick.KymaWorkflow),
	}
	for {
		page, err := v.temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list open workflows: %w", err)
		}
		for _, execution := range page.GetExecutions() {
			open[execution.GetExecution().GetWorkflowId()] = execution.GetStartTime().AsTime()
		}
		if len(page.GetNextPageToken()) == 0 {
			v.open, v.read = open, read
			return open, nil
		}
		request.NextPageToken = page.GetNextPageToken()
	}
}

// IsOpen implements the interface OpenWorkflows.
func (v *Visibility) IsOpen(ctx context.Context, workflowID string) (bool, error) {
	execution, err := v.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if notFound := (*serviceerror.NotFound)(nil); errors.As(err, &notFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe workflow %s: %w", workflowID, err)
	}
	return execution.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}
