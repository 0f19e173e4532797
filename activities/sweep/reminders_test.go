package sweep

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A cluster that can be read but not worked on is marked unreachable again by every check.
func TestAClusterThatAnswersOnlyTheProbeIsCheckedLessAndLess(t *testing.T) {
	const interval = 5 * time.Minute
	var c reminders
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	checks := 0
	for pass := range int(30 * 24 * time.Hour / interval) {
		if c.due("uid", "", begin.Add(time.Duration(pass)*interval), interval) {
			checks++
		}
		if pass == 0 {
			require.Equal(t, 1, checks, "what comes back is checked at once")
		}
	}
	require.LessOrEqual(t, checks, 40, "a month")
	require.GreaterOrEqual(t, checks, 30, "at least once a day")

	require.True(t, c.due("uid", "something else", begin.Add(30*24*time.Hour), interval), "what is new is told at once")

	c.forget("uid")
	require.True(t, c.due("uid", "", begin.Add(31*24*time.Hour), interval), "one that was well in between is new")
	require.True(t, c.due("other", "", begin, interval))
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

// A catalog that changed while nobody watched reaches also a module that nobody lists any more, and whose removal waits.
func TestANewerVersionOfAModuleUnderRemovalIsSeenByTheSweep(t *testing.T) {
	f := quiet()
	kyma, m := quietKyma(), quietManifest()
	a := activitiesFor(t, f, kyma, m)
	now := time.Now()
	a.options.Interval, a.options.Now = 5*time.Minute, func() time.Time { return now }
	kicked := func() map[string]string {
		defer clear(f.kicked)
		_, err := walkShard(t, a, shardOf(kyma.UID))
		require.NoError(t, err)
		return maps.Clone(f.kicked)
	}
	require.Empty(t, kicked(), "nothing is being removed")
	f.delisted = "version 1"
	require.Equal(t, map[string]string{kymaID: "a newer version may end a removal"}, kicked())
	require.Empty(t, kicked(), "it was told")
	f.delisted = "version 2"
	require.Equal(t, map[string]string{kymaID: "a newer version may end a removal"}, kicked())
}
