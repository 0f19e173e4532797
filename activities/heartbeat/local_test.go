package heartbeat

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
)

// The server knows of no local activity: a heartbeat of one is refused, which would end its work.
func TestALocalActivityDoesNotHeartbeat(t *testing.T) {
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	_, err := env.ExecuteLocalActivity(func(ctx context.Context) error {
		beaten, stop := Every(ctx, time.Millisecond)
		defer stop()
		require.Nil(t, beaten.Value(beating{}), "nobody heartbeats for it")
		return nil
	})
	require.NoError(t, err)
}
