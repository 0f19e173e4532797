package sweep

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestOpenWorkflowsAreListedOncePerMaxAge(t *testing.T) {
	server := &mocks.Client{}
	page := func(token string, ids ...string) *workflowservice.ListWorkflowExecutionsResponse {
		res := &workflowservice.ListWorkflowExecutionsResponse{NextPageToken: []byte(token)}
		for _, id := range ids {
			res.Executions = append(res.Executions, &workflowpb.WorkflowExecutionInfo{
				Execution: &commonpb.WorkflowExecution{WorkflowId: id}, StartTime: timestamppb.New(time.Unix(1, 0)),
			})
		}
		return res
	}
	asked := func(token string) any {
		return mock.MatchedBy(func(in *workflowservice.ListWorkflowExecutionsRequest) bool {
			return string(in.GetNextPageToken()) == token &&
				in.GetQuery() == `WorkflowType IN ("KymaWorkflow") AND ExecutionStatus IN ("Running", "Paused")`
		})
	}
	server.On("ListWorkflow", mock.Anything, asked("")).Return(page("more", "kyma/a/b/c"), nil)
	server.On("ListWorkflow", mock.Anything, asked("more")).Return(page("", "kyma/d/e/f"), nil)
	clock := time.Unix(1000, 0)
	v := NewVisibility(server, time.Minute)
	v.now = func() time.Time { return clock }
	for range 3 {
		open, err := v.OpenWorkflows(t.Context(), time.Time{})
		require.NoError(t, err)
		require.Equal(t, Open{"kyma/a/b/c": time.Unix(1, 0).UTC(), "kyma/d/e/f": time.Unix(1, 0).UTC()}, open)
	}
	server.AssertNumberOfCalls(t, "ListWorkflow", 2)
	clock = clock.Add(time.Hour)
	_, err := v.OpenWorkflows(t.Context(), clock)
	require.NoError(t, err)
	server.AssertNumberOfCalls(t, "ListWorkflow", 4)
	_, err = v.OpenWorkflows(t.Context(), clock)
	require.NoError(t, err)
	server.AssertNumberOfCalls(t, "ListWorkflow", 4)

	lost := clock.Add(time.Second) // and a sweep that was started in the new database
	clock = clock.Add(10 * time.Second)
	_, err = v.OpenWorkflows(t.Context(), lost)
	require.NoError(t, err)
	server.AssertNumberOfCalls(t, "ListWorkflow", 6)
}

// The server's own record shows a workflow before visibility lists it.
func TestIsOpenAsksTheServer(t *testing.T) {
	server := &mocks.Client{}
	described := func(id string, status enums.WorkflowExecutionStatus, err error) {
		server.On("DescribeWorkflow", mock.Anything, id, "").Return(&client.WorkflowExecutionDescription{
			WorkflowExecutionMetadata: client.WorkflowExecutionMetadata{Status: status},
		}, err)
	}
	described("running", enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil)
	described("paused", enums.WORKFLOW_EXECUTION_STATUS_PAUSED, nil)
	described("completed", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, nil)
	described("unknown", 0, serviceerror.NewNotFound("no such workflow"))
	described("failing", 0, serviceerror.NewUnavailable("try again"))
	v := NewVisibility(server, time.Minute)
	for id, want := range map[string]bool{"running": true, "paused": true, "completed": false, "unknown": false} {
		open, err := v.IsOpen(t.Context(), id)
		require.NoError(t, err, id)
		require.Equal(t, want, open, id)
	}
	_, err := v.IsOpen(t.Context(), "failing")
	require.ErrorContains(t, err, "describe workflow failing: try again")
}

func TestPausedWorkflowsAreListedAsOpenUnlessTheServerIsTooOld(t *testing.T) {
	info := func(id string, status enums.WorkflowExecutionStatus) *workflowpb.WorkflowExecutionInfo {
		return &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id}, Status: status}
	}
	server := &mocks.Client{}
	server.On("ListWorkflow", mock.Anything, mock.Anything).Return(&workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{
		info("running", enums.WORKFLOW_EXECUTION_STATUS_RUNNING), info("paused", enums.WORKFLOW_EXECUTION_STATUS_PAUSED),
	}}, nil)
	v := NewVisibility(server, time.Minute)
	open, err := v.OpenWorkflows(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, open, 2)
	require.True(t, v.IsPaused("paused"))
	require.False(t, v.IsPaused("running"))

	earlier := &mocks.Client{}
	asked := func(words string) any {
		return mock.MatchedBy(func(in *workflowservice.ListWorkflowExecutionsRequest) bool {
			return strings.HasSuffix(in.GetQuery(), words)
		})
	}
	earlier.On("ListWorkflow", mock.Anything, asked(`("Running", "Paused")`)).Return(nil, serviceerror.NewInvalidArgument("no such status"))
	earlier.On("ListWorkflow", mock.Anything, asked(`= "Running"`)).Return(&workflowservice.ListWorkflowExecutionsResponse{
		Executions: []*workflowpb.WorkflowExecutionInfo{info("running", enums.WORKFLOW_EXECUTION_STATUS_RUNNING)},
	}, nil)
	open, err = NewVisibility(earlier, time.Minute).OpenWorkflows(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, open, 1)
}
