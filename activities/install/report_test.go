package install

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
)

func firstAttempt(ctx context.Context) (bool, error) { return isFirstAttempt(ctx), nil }

func TestAReportFromAQueueFollowsAnAttemptInTheWorkflowTask(t *testing.T) {
	require.True(t, isFirstAttempt(t.Context()))

	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(firstAttempt)
	var first bool
	value, err := env.ExecuteLocalActivity(firstAttempt)
	require.NoError(t, err)
	require.NoError(t, value.Get(&first))
	require.True(t, first)

	value, err = env.ExecuteActivity(firstAttempt)
	require.NoError(t, err)
	require.NoError(t, value.Get(&first))
	require.False(t, first)
}
