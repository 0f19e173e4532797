package mailbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

func pendingOf(kicks ...kick.Kick) Pending {
	var p Pending
	for _, k := range kicks {
		p.Add(k)
	}
	return p
}

func TestPendingKicksKeepWhatAReconcileNeeds(t *testing.T) {
	p := pendingOf(
		kick.Kick{Reason: "first", Kind: "Manifest", Name: "m", ResourceVersion: "1"},
		kick.Kick{Reason: "second", Kind: "Manifest", Name: "m", ResourceVersion: "2"},
	)
	require.Equal(t, 2, p.Count)
	require.Equal(t, "second", p.Reason)
	require.True(t, p.OnlyManifests)
	require.Equal(t, []SeenVersion{{Kind: "Manifest", Name: "m", ResourceVersion: "2"}}, p.Seen)

	p.Add(kick.Kick{Reason: "third", Kind: "ModuleTemplate", Namespace: "n", Name: "t", ResourceVersion: "3"})
	require.False(t, p.OnlyManifests, "a kick about another kind needs a whole reconcile")
	require.Len(t, p.Seen, 2)

	p.Add(kick.Kick{Kind: "Manifest", Name: "m"})
	require.False(t, p.OnlyManifests, "the whole reconcile is still needed")
}

func TestAManifestThatSettledOrIsGoneIsReportedAtOnce(t *testing.T) {
	p := pendingOf(kick.Kick{Kind: "Manifest", Name: "m", Urgent: true})
	require.True(t, p.OnlyManifests, "the report decides whether a whole reconcile is needed")
	require.True(t, p.Urgent)
}

func TestSeenVersionsAreBounded(t *testing.T) {
	var p Pending
	for i := range 10 * maxSeen {
		p.Add(kick.Kick{Kind: "ModuleTemplate", Name: "t" + time.Duration(i).String(), ResourceVersion: "1"})
	}
	require.Len(t, p.Seen, maxSeen)
}

func TestTheNewestVersionOfAKindSurvivesAnyNumberOfKicks(t *testing.T) {
	p := Pending{}
	for i := range maxSeen {
		p.Add(kick.Kick{Kind: "Manifest", Name: string(rune('a' + i)), ResourceVersion: "50"})
	}
	p.Add(kick.Kick{Kind: "Manifest", Name: "late", ResourceVersion: "51"})
	require.Len(t, p.Seen, maxSeen)
	require.Contains(t, p.Seen, SeenVersion{Kind: "Manifest", Name: "late", ResourceVersion: "51"})
}

func TestAKickAboutAManifestMayAskForAWholeReconcile(t *testing.T) {
	p := Pending{}
	p.Add(kick.Kick{Kind: "Manifest", Name: "a"})
	require.True(t, p.OnlyManifests)
	p.Add(kick.Kick{Kind: "Manifest", Name: "a", Whole: true})
	require.False(t, p.OnlyManifests)
}

func TestSinceIsTheTimeOfTheOldestChange(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	p := pendingOf(kick.Kick{Reason: "no time given"}, kick.Kick{}.SeenAt(at.Add(time.Minute)), kick.Kick{}.SeenAt(at), kick.Kick{}.SeenAt(at.Add(time.Hour)))
	require.Equal(t, at, p.Since)
	require.Equal(t, at, pendingOf(kick.Kick{}.SeenAt(at.Add(time.Second))).With(p).Since)
	require.Equal(t, at, p.With(pendingOf(kick.Kick{})).Since)
}
