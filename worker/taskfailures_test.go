package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

func TestWorkflowTasksThatFailAreCountedAndLoggedAsErrors(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	failures, err := NewTaskFailures(prometheus.NewRegistry(), log)
	require.NoError(t, err)
	now := time.Now()
	failures.now = func() time.Time { return now }
	answer := func(req any, answered error) {
		invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return answered }
		require.Equal(t, answered, failures.Intercept(t.Context(), "method", req, nil, nil, invoke))
	}
	count := func(cause string) float64 { return testutil.ToFloat64(failures.failed.WithLabelValues(cause)) }

	completed := &workflowservice.RespondWorkflowTaskCompletedRequest{}
	answer(completed, nil)
	answer(completed, serviceerror.NewNotFound("another attempt is active"))
	answer(&workflowservice.StartWorkflowExecutionRequest{}, serviceerror.NewInvalidArgument("no workflow task"))
	answer(completed, errors.New("connection lost"))
	answer(completed, serviceerror.NewInvalidArgument("UnhandledCommand")) // because a signal arrived
	require.Empty(t, lines)
	require.Zero(t, count("Refused"))

	refused := serviceerror.NewInvalidArgument("BadSearchAttributes: search attribute KymaName is not defined")
	answer(completed, refused)
	answer(completed, refused)
	require.InDelta(t, 2, count("Refused"), 0)
	require.Len(t, lines, 1, "not one line per workflow")
	require.Contains(t, lines[0], "KymaName is not defined")

	now = now.Add(sayFailuresEvery)
	answer(&workflowservice.RespondWorkflowTaskFailedRequest{
		Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR, Failure: &failurepb.Failure{Message: "history mismatch"},
	}, nil)
	require.InDelta(t, 1, count("NonDeterministicError"), 0)
	require.Len(t, lines, 2)
	require.Contains(t, lines[1], "history mismatch")
	require.Contains(t, lines[1], `"othersSince"=1`)
}
