package attempts

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

func TestWhichFaultsAreRetriedAfterALocalAttempt(t *testing.T) {
	busy := fault.New(fault.Transient, "Busy", "busy")
	busy.RetryAfter = 20 * time.Second
	for name, c := range map[string]struct {
		err   error
		wait  time.Duration
		again bool
	}{
		"done":                {nil, 0, false},
		"cannot succeed":      {fault.ToTemporal(fault.New(fault.Rejected, "UnknownChannel", "no such channel")), 0, false},
		"denies access":       {fault.ToTemporal(fault.New(fault.Unreachable, "UnreachableUnauthorized", "401")), 0, false},
		"times out":           {fault.ToTemporal(fault.New(fault.Unreachable, "UnreachableTimeout", "cut")), 0, true},
		"may succeed":         {fault.ToTemporal(errors.New("conflict")), time.Second, true},
		"asks for a delay":    {fault.ToTemporal(busy), 20 * time.Second, true},
		"exceeds its timeout": {temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil), 0, true},
		"its worker stops":    {temporal.NewCanceledError(), 0, true},
	} {
		wait, again := againAfterLocal(c.err)
		require.Equal(t, c.again, again, name)
		require.Equal(t, c.wait, wait, name)
	}
}

// If the worker of a workflow task is cut off from the server, another worker begins the same task after ten seconds.
// After eight seconds the SDK splits the task.
func TestNoLocalAttemptOutlivesItsWorkflowTask(t *testing.T) {
	const split = 8 * time.Second
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var tries Local
	now := start
	for _, atMost := range []time.Duration{installTimeout, localTimeout, localTimeout} {
		if tries.mayAttempt(now, atMost) {
			now = now.Add(atMost)
			tries.ended = now
		}
	}
	require.Equal(t, installTimeout+localTimeout, now.Sub(start))
	require.Less(t, now.Sub(start), split)
	require.False(t, tries.mayAttempt(now, localTimeout), "still the same task")
	require.True(t, tries.mayAttempt(now.Add(time.Millisecond), localTimeout), "another task began")
}

func TestAWalkMayTakeTwiceItsIntervalAndHasAHeartbeatTimeoutOfThirtySeconds(t *testing.T) {
	env := workflowtest.Environment()
	walk := func(ctx workflow.Context) error {
		o := workflow.GetActivityOptions(Walking(ctx, 10*time.Minute))
		require.GreaterOrEqual(t, o.StartToCloseTimeout, 20*time.Minute)
		require.Equal(t, 30*time.Second, o.HeartbeatTimeout)
		require.True(t, o.WaitForCancellation)
		require.Zero(t, o.RetryPolicy.MaximumAttempts, "another worker continues the walk")
		require.NotEmpty(t, o.Summary)
		return nil
	}
	env.RegisterWorkflow(walk)
	env.ExecuteWorkflow(walk)
	require.NoError(t, env.GetWorkflowError())
}
