package attempt

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
)

func tries(ctx context.Context) (int32, error) { return Of(ctx), nil }

func TestAnActivityOfAQueueFollowsATryInTheWorkflowTask(t *testing.T) {
	require.Equal(t, int32(1), Of(t.Context()))

	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(tries)
	var got int32
	value, err := env.ExecuteLocalActivity(tries)
	require.NoError(t, err)
	require.NoError(t, value.Get(&got))
	require.Equal(t, int32(1), got)

	value, err = env.ExecuteActivity(tries)
	require.NoError(t, err)
	require.NoError(t, value.Get(&got))
	require.Equal(t, int32(2), got)
}
