package manifests

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
)

func firstTry(ctx context.Context) (bool, error) { return isFirstTry(ctx), nil }

func TestAReportFromAQueueFollowsATryInTheWorkflowTask(t *testing.T) {
	require.True(t, isFirstTry(t.Context()))

	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(firstTry)
	var first bool
	value, err := env.ExecuteLocalActivity(firstTry)
	require.NoError(t, err)
	require.NoError(t, value.Get(&first))
	require.True(t, first)

	value, err = env.ExecuteActivity(firstTry)
	require.NoError(t, err)
	require.NoError(t, value.Get(&first))
	require.False(t, first)
}
