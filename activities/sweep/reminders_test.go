package sweep

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// A cluster that can be read but not worked on is marked unreachable again by every reconcile.
func TestChecksOfAClusterThatAnswersOnlyTheProbeBackOff(t *testing.T) {
	const interval = 5 * time.Minute
	var c reminders
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	checks := 0
	for pass := range int(30 * 24 * time.Hour / interval) {
		if c.due("uid", "", begin.Add(time.Duration(pass)*interval), interval) {
			checks++
		}
		if pass == 0 {
			require.Equal(t, 1, checks, "a cluster that comes back is checked immediately")
		}
	}
	require.LessOrEqual(t, checks, 40, "a month")
	require.GreaterOrEqual(t, checks, 30, "at least once a day")

	require.True(t, c.due("uid", "something else", begin.Add(30*24*time.Hour), interval), "a new subject is kicked immediately")

	c.forget("uid")
	require.True(t, c.due("uid", "", begin.Add(31*24*time.Hour), interval), "a cluster that recovered in between starts again")
	require.True(t, c.due("other", "", begin, interval))
}

func TestManifestsInAClusterThatAnswersOnlyTheProbeAreNotKickedInEveryPass(t *testing.T) {
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

// The Kyma's workflow may be working on the Manifest. Nothing outside the workflow shows that.
func TestKicksForAnUnsettledManifestBackOff(t *testing.T) {
	kyma, m := quietKyma(), quietManifest()
	m.Status.Settled, m.Status.InstalledRef = false, "an earlier one"
	gone := quietManifest()
	gone.OwnerReferences[0].Name, gone.OwnerReferences[0].Controller = "gone", new(true)
	gone.Status.Settled, gone.DeletionTimestamp, gone.Finalizers = false, new(metav1.Now()), []string{shared.FinalizerManifest}
	for name, c := range map[string]struct {
		objects  []client.Object
		open     string
		deleting bool
	}{
		"of a Kyma":              {objects: []client.Object{kyma, m}, open: kymaID},
		"of a Kyma that is gone": {objects: []client.Object{gone}, open: "kyma/kcp-system/gone/uid", deleting: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := quiet()
			now := time.Now()
			f.open = Open{c.open: now.Add(-time.Hour)}
			a, h := activitiesFor(t, f, c.objects...), &heard{fixture: f}
			a.options.Kicks, a.options.Now = h, func() time.Time { return now }
			for range 8 {
				_, err := walkShard(t, a, shardOf("uid"))
				require.NoError(t, err)
				now = now.Add(a.options.Interval)
			}
			want := kick.Kick{Reason: "the Manifest is not settled", Kind: "Manifest", Name: "demo-m", IfIdle: true, Deleting: c.deleting, ResourceVersion: "999"}
			require.Equal(t, []kick.Kick{want, want, want, want}, h.kicks, "immediately, and after 1, 2 and 4 intervals")
			require.Empty(t, f.kicked, "a workflow that removes the remaining Manifests is not an orphan")
		})
	}
}

// A new version in the catalog that no watcher saw also reaches a delisted module with a waiting removal.
func TestTheSweepFindsANewerVersionOfAModuleUnderRemoval(t *testing.T) {
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
	require.Empty(t, kicked(), "the Kyma was just kicked")
	f.delisted = "version 2"
	require.Equal(t, map[string]string{kymaID: "a newer version may end a removal"}, kicked())
}
