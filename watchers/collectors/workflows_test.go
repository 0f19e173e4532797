package collectors

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
)

// server is a Temporal with fixed answers.
type server struct {
	workflowservice.WorkflowServiceClient
	counts map[string]int64
	// histories holds the pages of the sweeps' histories, newest first.
	histories map[string][][]*history.HistoryEvent
	// held holds the paused and failing workflows.
	held []*workflowpb.WorkflowExecutionInfo
	err  error
	// heldErr is the server's answer to the query for held workflows.
	heldErr error
}

func (s *server) ListWorkflowExecutions(context.Context, *workflowservice.ListWorkflowExecutionsRequest, ...grpc.CallOption) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: s.held}, s.heldErr
}

func (s *server) CountWorkflowExecutions(_ context.Context, in *workflowservice.CountWorkflowExecutionsRequest, _ ...grpc.CallOption) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	return &workflowservice.CountWorkflowExecutionsResponse{Count: s.counts[in.GetQuery()]}, s.err
}

func (s *server) GetWorkflowExecutionHistoryReverse(_ context.Context, in *workflowservice.GetWorkflowExecutionHistoryReverseRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	pages, known := s.histories[in.GetExecution().GetWorkflowId()]
	if !known {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	at := 0
	if len(in.GetNextPageToken()) > 0 {
		at = int(in.GetNextPageToken()[0])
	}
	out := &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: &history.History{Events: pages[at]}}
	if at+1 < len(pages) {
		out.NextPageToken = []byte{byte(at + 1)}
	}
	return out, s.err
}

func event(kind enumspb.EventType, ago time.Duration) *history.HistoryEvent {
	return &history.HistoryEvent{EventType: kind, EventTime: timestamppb.New(noon.Add(-ago))}
}

func workflowsOf(s *server, shards int) *Workflows {
	w := NewWorkflows(WorkflowsOptions{
		Temporal: s, Namespace: "ns", Shards: shards, Interval: 5 * time.Minute, Log: logr.Discard(), Now: func() time.Time { return noon },
	})
	w.began = noon.Add(-time.Second)
	return w
}

func TestTheLeaderCountsOpenWorkflowsByType(t *testing.T) {
	s := &server{counts: map[string]int64{`WorkflowType IN ("KymaWorkflow") AND ExecutionStatus IN ("Running", "Paused")`: 12}}
	w := workflowsOf(s, 0)
	require.NoError(t, w.ask(t.Context()))
	found := values(t, w)
	require.InDelta(t, 12, found[`lifecycle_mgr_open_workflows{type="KymaWorkflow"}`], 0)
	for _, each := range []string{"SweepWorkflow", "WatcherWorkflow", "CertificatesWorkflow"} {
		require.Contains(t, found, `lifecycle_mgr_open_workflows{type="`+each+`"}`)
	}
	require.InDelta(t, 300, found["lifecycle_mgr_sweep_interval_seconds{}"], 0)
	problems, err := testutil.CollectAndLint(w)
	require.NoError(t, err)
	require.Empty(t, problems)

	s.err = errors.New("no connection")
	require.Error(t, w.ask(t.Context()))
	require.NotContains(t, values(t, w), `lifecycle_mgr_open_workflows{type="KymaWorkflow"}`, "an unknown value is not exported")

	idle := NewWorkflows(WorkflowsOptions{Temporal: s})
	require.Empty(t, values(t, idle), "a process that does not lead exports nothing")
}

func TestTheLeaderCountsWorkflowsThatMakeNoProgress(t *testing.T) {
	execution := func(id, kind string, status enumspb.WorkflowExecutionStatus, problems ...string) *workflowpb.WorkflowExecutionInfo {
		payload, err := converter.GetDefaultDataConverter().ToPayload(problems)
		require.NoError(t, err)
		return &workflowpb.WorkflowExecutionInfo{
			Execution: &common.WorkflowExecution{WorkflowId: id}, Type: &common.WorkflowType{Name: kind}, Status: status,
			SearchAttributes: &common.SearchAttributes{IndexedFields: map[string]*common.Payload{"TemporalReportedProblems": payload}},
		}
	}
	s := &server{}
	w := workflowsOf(s, 0)
	require.NoError(t, w.ask(t.Context()))
	found := values(t, w)
	require.Contains(t, found, `lifecycle_mgr_held_workflows{reason="Paused",type="KymaWorkflow"}`)
	require.InDelta(t, 0, found[`lifecycle_mgr_held_workflows{reason="ReportedProblems",type="SweepWorkflow"}`], 0)
	require.Empty(t, w.Held())

	s.held = []*workflowpb.WorkflowExecutionInfo{
		execution("kyma/kcp-system/demo/uid", "KymaWorkflow", enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED),
		execution("sweep/00", "SweepWorkflow", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, "category=WorkflowTaskFailed", "cause=Panic"),
	}
	require.NoError(t, w.ask(t.Context()))
	found = values(t, w)
	require.InDelta(t, 1, found[`lifecycle_mgr_held_workflows{reason="Paused",type="KymaWorkflow"}`], 0)
	require.InDelta(t, 0, found[`lifecycle_mgr_held_workflows{reason="Paused",type="SweepWorkflow"}`], 0)
	require.InDelta(t, 1, found[`lifecycle_mgr_held_workflows{reason="ReportedProblems",type="SweepWorkflow"}`], 0)
	require.Equal(t, []visibility.HeldWorkflow{
		{ID: "kyma/kcp-system/demo/uid", Type: "KymaWorkflow"},
		{ID: "sweep/00", Type: "SweepWorkflow", Problems: []string{"category=WorkflowTaskFailed", "cause=Panic"}},
	}, w.Held())

	s.heldErr = serviceerror.NewInvalidArgument("no such search attribute")
	require.NoError(t, w.ask(t.Context()), "an earlier server does not know the query")
	require.NotContains(t, values(t, w), `lifecycle_mgr_held_workflows{reason="Paused",type="KymaWorkflow"}`)
	s.heldErr = errors.New("no connection")
	require.ErrorContains(t, w.ask(t.Context()), "list paused and failing workflows: no connection")
	require.NotContains(t, values(t, w), `lifecycle_mgr_held_workflows{reason="Paused",type="KymaWorkflow"}`, "an unknown value is not exported")
}

func TestTheSweepLagIsTheLagOfItsSlowestShard(t *testing.T) {
	const done, started, begins = enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED
	s := &server{histories: map[string][][]*history.HistoryEvent{
		"sweep/00": {{event(started, time.Minute), event(done, 2*time.Minute), event(done, 9*time.Hour)}},
		"sweep/01": {{event(started, time.Minute)}, {event(done, 7*time.Minute), event(begins, 9*time.Hour)}},
		"sweep/02": {{event(started, time.Minute), event(begins, 3*time.Minute)}},
	}}
	lag := func(shards int) float64 {
		w := workflowsOf(s, shards)
		require.NoError(t, w.ask(t.Context()))
		return values(t, w)["lifecycle_mgr_sweep_lag_seconds{}"]
	}
	require.InDelta(t, 120, lag(1), 0)
	require.InDelta(t, 420, lag(2), 0, "also if the event is on the next page")
	require.InDelta(t, 420, lag(3), 0)
	delete(s.histories, "sweep/01")
	require.InDelta(t, 180, lag(3), 0, "a run without a pass counts from its start, a missing sweep from the start of this process")
}
