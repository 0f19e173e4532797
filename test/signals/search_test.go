package signals

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
	"github.com/kyma-project/lifecycle-manager/worker"
)

var demo = kick.Ref{Namespace: "kcp-system", Name: "demo", UID: "demo-uid"}

// isFound waits until a search has found just the workflows with these ids.
func isFound(t *testing.T, server client.Client, namespace, query string, ids ...string) {
	t.Helper()
	slices.Sort(ids)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list, err := server.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: query})
		if !assert.NoError(c, err) {
			return
		}
		var found []string
		for _, each := range list.GetExecutions() {
			found = append(found, each.GetExecution().GetWorkflowId())
		}
		slices.Sort(found)
		assert.Equal(c, ids, found)
	}, time.Minute, 100*time.Millisecond, query)
}

// failing are activities of which those that come first in a workflow fail.
func failing() map[string]any {
	activities := quiet(newState())
	rejected := fault.ToTemporal(fault.New(fault.Rejected, "InvalidChart", "the chart cannot be rendered"))
	activities["ApplyManifest"] = func(context.Context, install.ApplyInput) (res install.ApplyResult, err error) { return res, rejected }
	activities["SyncRemote"] = func(context.Context, syncing.Input) (res syncing.Result, err error) { return res, rejected }
	activities["ReportKyma"] = func(context.Context, status.ReportInput) (status.ReportResult, error) {
		return status.ReportResult{Outcome: status.OutcomeReported, State: shared.StateError, Modules: []status.Module{{Name: "sample", State: shared.StateError}}}, nil
	}
	return activities
}

func TestAWorkflowIsFoundFromItsStartOnAndByItsStateWhenItsFirstStepFailed(t *testing.T) {
	t.Parallel()
	namespace, server := temporaltest.Namespace(t, "search")
	require.NoError(t, kick.NewSender(server, nil, nil).Kyma(t.Context(), demo, kick.Kick{Reason: "Kyma changed"}))
	id := kick.KymaWorkflowID(demo)

	// Nobody works yet.
	isFound(t, server, namespace, `ExecutionStatus="Running" AND KymaName="demo"`, id)
	_, err := server.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: kick.SweepWorkflowID(0), TaskQueue: kick.SweepQueue}, kick.SweepWorkflow)
	require.NoError(t, err)
	isFound(t, server, namespace, `WorkflowType="SweepWorkflow"`, kick.SweepWorkflowID(0))
	const ours = `WorkflowType IN ("KymaWorkflow", "RolloutWorkflow")` // docs/operating.md
	isFound(t, server, namespace, ours, id)

	startWorkers(t, server, failing())
	isFound(t, server, namespace, `ExecutionStatus="Running" AND KymaName="demo" AND KymaState="Error" AND FailingModules="sample"`, id)
}

// In a rolling update to a build with a new search attribute, and after the database was lost, a frontend may not know it yet.
func TestAKymaIsWorkedOnWhereTemporalDoesNotKnowASearchAttributeYet(t *testing.T) {
	t.Parallel()
	namespace, server := temporaltest.Namespace(t, "unknown")
	_, err := server.OperatorService().RemoveSearchAttributes(t.Context(), &operatorservice.RemoveSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: []string{kick.AttributeKymaName},
	})
	require.NoError(t, err)
	name := temporal.NewSearchAttributeKeyKeyword(kick.AttributeKymaName).ValueSet("demo")
	require.Eventually(t, func() bool {
		_, err := server.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			TaskQueue: "nobody", TypedSearchAttributes: temporal.NewSearchAttributes(name),
		}, "None")
		var refused *serviceerror.InvalidArgument
		return errors.As(err, &refused)
	}, time.Minute, 100*time.Millisecond, "the server has forgotten the attribute")

	require.NoError(t, kick.NewSender(server, nil, nil).Kyma(t.Context(), demo, kick.Kick{Reason: "Kyma changed"}))
	startWorkers(t, server, failing())

	// What a link to Temporal does every ten seconds.
	_, err = worker.EnsureSearchAttributes(t.Context(), server, namespace)
	require.NoError(t, err)
	isFound(t, server, namespace, `KymaName="demo" AND KymaState="Error"`, kick.KymaWorkflowID(demo))
}

// The summary that a workflow was started with does not outlive its first run: the server has no place for it in the
// start of the next one.
func TestTheNextRunOfAWorkflowSaysWhoseItIsAndIsFoundAsBefore(t *testing.T) {
	t.Parallel()
	namespace, server := temporaltest.Namespace(t, "summary")
	id := kick.KymaWorkflowID(demo)
	require.NoError(t, kick.NewSender(server, nil, nil).Kyma(t.Context(), demo, kick.Kick{Reason: "Kyma changed"}))
	startWorkers(t, server, quiet(newState()))
	isFound(t, server, namespace, `KymaName="demo" AND KymaState="Ready"`, id)

	first, err := server.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	require.NoError(t, server.SignalWorkflow(t.Context(), id, "", kick.SignalContinueAsNew, nil))
	isFound(t, server, namespace, `ExecutionStatus="ContinuedAsNew" AND KymaName="demo"`, id)
	isFound(t, server, namespace, `ExecutionStatus="Running" AND KymaName="demo" AND KymaState="Ready"`, id)
	next, err := server.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	require.NotEqual(t, first.WorkflowExecution.RunID, next.WorkflowExecution.RunID)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, next.Status)

	answer, err := server.QueryWorkflow(t.Context(), id, "", "__temporal_workflow_metadata")
	require.NoError(t, err)
	metadata := &sdkpb.WorkflowMetadata{}
	require.NoError(t, answer.Get(metadata))
	require.Regexp(t, `^kcp-system/demo\n`, metadata.GetCurrentDetails())
}
