package signals

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
)

// held returns the workflows that make no progress, by id.
func held(t assert.TestingT, namespace string, server client.Client) map[string]visibility.HeldWorkflow {
	found := map[string]visibility.HeldWorkflow{}
	_, err := visibility.Ask(visibility.Held(kick.Workflows()...), func(query string) (any, error) {
		list, err := server.ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: query})
		for _, each := range list.GetExecutions() {
			found[each.GetExecution().GetWorkflowId()] = visibility.HeldOf(each)
		}
		return nil, err
	})
	assert.NoError(t, err)
	return found
}

func TestAPausedWorkflowIsHeldAndStaysOpenForTheSweep(t *testing.T) {
	t.Parallel()
	namespace, server := temporaltest.Namespace(t, "paused")
	if !isPresent(t, server) {
		t.Skip("this release of Temporal knows no paused workflows")
	}
	id, st := kick.KymaWorkflowID(demo), newState()
	startWorkers(t, server, quiet(st))
	sender := kick.NewSender(server, nil, nil)
	require.NoError(t, sender.Kyma(t.Context(), demo, kick.Kick{Reason: "Kyma changed"}))
	isFound(t, server, namespace, `KymaName="demo" AND KymaState="Ready"`, id)
	require.Empty(t, held(t, namespace, server))

	_, err := server.WorkflowService().PauseWorkflowExecution(t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: id, Identity: "somebody", Reason: "to look at it", RequestId: "pause",
	})
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, map[string]visibility.HeldWorkflow{id: {ID: id, Type: kick.KymaWorkflow}}, held(c, namespace, server))
	}, time.Minute, 100*time.Millisecond)
	open := sweep.NewVisibility(server, time.Nanosecond)
	listed, err := open.OpenWorkflows(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Contains(t, listed, id)
	require.True(t, open.IsPaused(id))
	ok, err := open.IsOpen(t.Context(), id)
	require.NoError(t, err)
	require.True(t, ok)

	// What changes meanwhile is seen afterwards.
	st.change(demo.UID)
	require.NoError(t, sender.Kyma(t.Context(), demo, kick.Kick{Reason: "Kyma changed"}))
	time.Sleep(2 * time.Second)
	require.Len(t, st.unseen(), 1, "a paused workflow does nothing")
	_, err = server.WorkflowService().UnpauseWorkflowExecution(t.Context(), &workflowservice.UnpauseWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: id, Identity: "somebody", RequestId: "unpause",
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(st.unseen()) == 0 }, time.Minute, 100*time.Millisecond)
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, held(c, namespace, server)) }, time.Minute, 100*time.Millisecond)
}

func TestAWorkflowWhoseTasksFailIsHeldUntilOneSucceeds(t *testing.T) {
	t.Parallel()
	namespace, server := temporaltest.Namespace(t, "failing")
	if !isPresent(t, server) {
		t.Skip("this release of Temporal does not report problems")
	}
	var fixed atomic.Bool
	worker := sdkworker.New(server, kick.ControlPlaneQueue, sdkworker.Options{})
	worker.RegisterWorkflowWithOptions(func(workflow.Context) error {
		if !fixed.Load() {
			panic("a fault of the build")
		}
		return nil
	}, workflow.RegisterOptions{Name: kick.KymaWorkflow})
	require.NoError(t, worker.Start())
	t.Cleanup(worker.Stop)
	id := kick.KymaWorkflowID(demo)
	_, err := server.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: kick.ControlPlaneQueue}, kick.KymaWorkflow)
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, []string{"category=WorkflowTaskFailed", "cause=WorkflowTaskFailedCauseWorkflowWorkerUnhandledFailure"}, held(c, namespace, server)[id].Problems)
	}, 3*time.Minute, 200*time.Millisecond)
	fixed.Store(true)
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, held(c, namespace, server)) }, 3*time.Minute, 200*time.Millisecond)
}
