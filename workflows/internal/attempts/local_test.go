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

func TestWhatIsTriedAgainAfterAFirstTry(t *testing.T) {
	busy := fault.New(fault.Transient, "Busy", "busy")
	busy.RetryAfter = 20 * time.Second
	for name, c := range map[string]struct {
		err   error
		wait  time.Duration
		again bool
	}{
		"done":                    {nil, 0, false},
		"cannot succeed":          {fault.ToTemporal(fault.New(fault.Rejected, "UnknownChannel", "no such channel")), 0, false},
		"refuses us":              {fault.ToTemporal(fault.New(fault.Unreachable, "UnreachableUnauthorized", "401")), 0, false},
		"does not answer in time": {fault.ToTemporal(fault.New(fault.Unreachable, "UnreachableTimeout", "cut")), 0, true},
		"may succeed":             {fault.ToTemporal(errors.New("conflict")), time.Second, true},
		"asked for a pause":       {fault.ToTemporal(busy), 20 * time.Second, true},
		"its time was over":       {temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil), 0, true},
		"its worker is stopped":   {temporal.NewCanceledError(), 0, true},
	} {
		wait, again := againAfterLocal(c.err)
		require.Equal(t, c.again, again, name)
		require.Equal(t, c.wait, wait, name)
	}
}

// The worker that does a workflow task may be cut off from the server. Another begins with the same task after ten
// seconds, and after eight the SDK splits it.
func TestNoTryOutlivesItsWorkflowTask(t *testing.T) {
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

func TestAWalkHasTwiceItsIntervalAndIsMissedAfterThirtySeconds(t *testing.T) {
	env := workflowtest.Environment()
	walk := func(ctx workflow.Context) error {
		o := workflow.GetActivityOptions(Walking(ctx, 10*time.Minute))
		require.GreaterOrEqual(t, o.StartToCloseTimeout, 20*time.Minute)
		require.Equal(t, 30*time.Second, o.HeartbeatTimeout)
		require.True(t, o.WaitForCancellation)
		require.Zero(t, o.RetryPolicy.MaximumAttempts, "a walk that was handed over goes on")
		require.NotEmpty(t, o.Summary)
		return nil
	}
	env.RegisterWorkflow(walk)
	env.ExecuteWorkflow(walk)
	require.NoError(t, env.GetWorkflowError())
}
