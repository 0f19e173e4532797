package sweep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
)

// pageSize is the number of workflows per visibility request.
const pageSize = 1000

// Visibility finds open workflows. It lists all of them with Temporal's visibility, once for all shards of a worker, and
// checks a single one with the server's own record.
type Visibility struct {
	temporal client.Client
	maxAge   time.Duration
	now      func() time.Time

	mu     sync.Mutex
	read   time.Time
	open   Open
	paused map[string]bool
}

// NewVisibility returns a Visibility whose lists are at most maxAge old.
func NewVisibility(temporal client.Client, maxAge time.Duration) *Visibility {
	return &Visibility{temporal: temporal, maxAge: maxAge, now: time.Now}
}

// OpenWorkflows implements the interface with the same name. The returned map is shared and must not be changed.
func (v *Visibility) OpenWorkflows(ctx context.Context, since time.Time) (Open, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open != nil && v.now().Sub(v.read) < v.maxAge && !v.read.Before(since) {
		return v.open, nil
	}
	read := v.now()
	executions, err := visibility.Ask(visibility.Open(kick.KymaWorkflow), func(query string) ([]*workflowpb.WorkflowExecutionInfo, error) {
		return v.list(ctx, query)
	})
	if err != nil {
		return nil, fmt.Errorf("list open workflows: %w", err)
	}
	open, paused := make(Open, len(executions)), map[string]bool{}
	for _, execution := range executions {
		id := execution.GetExecution().GetWorkflowId()
		open[id] = execution.GetStartTime().AsTime()
		if execution.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_PAUSED {
			paused[id] = true
		}
	}
	v.open, v.paused, v.read = open, paused, read
	return open, nil
}

func (v *Visibility) list(ctx context.Context, query string) ([]*workflowpb.WorkflowExecutionInfo, error) {
	var all []*workflowpb.WorkflowExecutionInfo
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: pageSize, Query: query}
	for {
		page, err := v.temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetExecutions()...)
		if len(page.GetNextPageToken()) == 0 {
			return all, nil
		}
		request.NextPageToken = page.GetNextPageToken()
	}
}

// IsPaused implements the interface OpenWorkflows.
func (v *Visibility) IsPaused(workflowID string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.paused[workflowID]
}

// IsOpen implements the interface OpenWorkflows.
func (v *Visibility) IsOpen(ctx context.Context, workflowID string) (bool, error) {
	execution, err := v.temporal.DescribeWorkflow(ctx, workflowID, "")
	if notFound := (*serviceerror.NotFound)(nil); errors.As(err, &notFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe workflow %s: %w", workflowID, err)
	}
	status := execution.Status
	return status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING || status == enums.WORKFLOW_EXECUTION_STATUS_PAUSED, nil
}
