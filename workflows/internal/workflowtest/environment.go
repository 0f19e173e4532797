// Package workflowtest has helpers for the tests of all workflows.
package workflowtest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// Environment returns Temporal's test environment, which skips time. It does not log, because it would print a line
// for each step of each workflow: 14 MB.
func Environment() *testsuite.TestWorkflowEnvironment {
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	// The first run computes the build id, a checksum of the binary. On a busy machine that takes more than a second.
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 30 * time.Second})
	return env
}

// DetailsOf returns the current details that Temporal's web UI shows for a run.
func DetailsOf(t *testing.T, env *testsuite.TestWorkflowEnvironment) string {
	t.Helper()
	value, err := env.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(t, err)
	metadata := &sdkpb.WorkflowMetadata{}
	require.NoError(t, value.Get(metadata))
	return metadata.GetCurrentDetails()
}

// ViewOf sends the status query to a workflow.
func ViewOf(t *testing.T, env *testsuite.TestWorkflowEnvironment) view.View {
	t.Helper()
	value, err := env.QueryWorkflow(kick.QueryStatus)
	require.NoError(t, err)
	var shown view.View
	require.NoError(t, value.Get(&shown))
	return shown
}
