package pace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestBackoffFollowsTheKindOfFault(t *testing.T) {
	transient := fault.Fault{Kind: fault.Transient, Reason: "Error"}
	unreachable := fault.Fault{Kind: fault.Unreachable, Reason: "UnreachableTimeout"}

	_, again := Backoff(fault.Fault{Kind: fault.Rejected}, 1, "id")
	require.False(t, again, "a rejected step waits for a change")

	first, again := Backoff(transient, 1, "id")
	require.True(t, again)
	require.GreaterOrEqual(t, first, minBackoff)
	require.Less(t, first, 2*minBackoff)

	last, again := Backoff(transient, 1000, "id")
	require.True(t, again)
	require.LessOrEqual(t, last, maxBackoff+maxBackoff/4)

	slow, again := Backoff(fault.Fault{Kind: fault.Transient, Reason: "LayerNotFound", SlowRetry: true}, 1, "id")
	require.True(t, again)
	require.Equal(t, last, slow)

	total := time.Duration(0)
	for attempt := 1; ; attempt++ {
		wait, again := Backoff(unreachable, attempt, "id")
		if !again {
			break
		}
		require.Less(t, attempt, 20, "an unreachable cluster must be handed over to the sweep at some point")
		total += wait
	}
	require.InDelta(t, (100 * time.Second).Seconds(), total.Seconds(), 30)
}

func TestBackoffSpreadsClustersThatFailedTogether(t *testing.T) {
	waits := map[time.Duration]bool{}
	for _, id := range []string{"kyma/a", "kyma/b", "kyma/c", "kyma/d", "kyma/e"} {
		wait, _ := Backoff(fault.Fault{Kind: fault.Transient}, 3, id)
		waits[wait] = true
		repeated, _ := Backoff(fault.Fault{Kind: fault.Transient}, 3, id)
		require.Equal(t, wait, repeated, "a workflow must be deterministic")
	}
	require.Greater(t, len(waits), 3)
}
