package e2e

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

func TestAWorkflowThatAnOperatorPausedShowsInTheStatusAndIsLeftAloneBySweeps(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften()
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	s.Create(harness.NewKyma("paused", "sample"))
	s.BecomesReady("paused", "sample@1.0.0")
	id := kick.KymaWorkflowID(kick.RefOf(s.Kyma("paused")))
	shown := func(c require.TestingT) string {
		cmd := exec.CommandContext(t.Context(), testfleet.Binary(t, "lifecycle-manager"), "status", "paused", "--kubeconfig", s.ControlPlane.Kubeconfig)
		cmd.Env = s.Variables()
		said, err := cmd.Output()
		require.NoError(c, err)
		return string(said)
	}
	const paused = "workflow: paused in Temporal"
	require.NotContains(t, shown(t), paused)

	temporal := s.Temporal.WorkflowService()
	_, err := temporal.PauseWorkflowExecution(t.Context(), &workflowservice.PauseWorkflowExecutionRequest{
		Namespace: s.Namespace, WorkflowId: id, Identity: "operator", Reason: "to look at it", RequestId: "pause",
	})
	require.NoError(t, err)
	s.EditRemote(func(kyma *v1beta2.Kyma) { kyma.Spec.Modules = nil })
	s.Eventually("the status says that the workflow is paused, and how to resume it", 2*time.Minute, func(c *assert.CollectT) {
		assert.Contains(c, shown(c), paused)
	})
	require.Contains(t, shown(t), "temporal workflow unpause --workflow-id "+id)

	before := time.Now()
	s.Sweeps(t, 2)
	require.Empty(t, s.Kicks(id, before))
	require.Len(t, s.Manifests(s.Kyma("paused")), 1)

	_, err = temporal.UnpauseWorkflowExecution(t.Context(), &workflowservice.UnpauseWorkflowExecutionRequest{
		Namespace: s.Namespace, WorkflowId: id, Identity: "operator", RequestId: "unpause",
	})
	require.NoError(t, err)
	s.Eventually("the change is worked on", 2*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.Manifests(s.Kyma("paused")))
	})
}
