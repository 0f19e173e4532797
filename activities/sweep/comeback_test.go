package sweep

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A cluster that can be read but not worked on is marked unreachable again by every look.
func TestAClusterThatAnswersOnlyTheProbeIsLookedAtLessAndLess(t *testing.T) {
	const interval = 5 * time.Minute
	var c comebacks
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	looks := 0
	for pass := range int(30 * 24 * time.Hour / interval) {
		if c.due("uid", begin.Add(time.Duration(pass)*interval), interval) {
			looks++
		}
		if pass == 0 {
			require.Equal(t, 1, looks, "what comes back is looked at at once")
		}
	}
	require.LessOrEqual(t, looks, 40, "a month")
	require.GreaterOrEqual(t, looks, 30, "at least once a day")

	c.forget("uid")
	require.True(t, c.due("uid", begin.Add(31*24*time.Hour), interval), "one that was well in between is new")
	require.True(t, c.due("other", begin, interval))
}

func TestAManifestInAClusterThatAnswersOnlyTheProbeIsNotStartedInEveryPass(t *testing.T) {
	f := quiet()
	unreachable := false
	kyma, m := quietKyma(), quietManifest()
	kyma.Status.Remote.Reachable, m.Status.Settled, m.Spec.Remote = &unreachable, false, true
	a := activitiesFor(t, f, kyma, m)
	now := time.Now()
	a.options.Interval, a.options.Now = time.Second, func() time.Time { return now }
	_, err := walkShard(t, a, shardOf(kyma.UID))
	require.NoError(t, err)
	require.Len(t, f.kicked, 2)
	clear(f.kicked)
	_, err = walkShard(t, a, shardOf(kyma.UID))
	require.NoError(t, err)
	require.Empty(t, f.kicked)
}
