package workflows

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
)

func TestWhoeverWorksOnAKymaIsToldHowNewItsCachesMustBe(t *testing.T) {
	r := &kymaRun{}
	r.note([]SeenVersion{
		{Kind: "ModuleTemplate", Name: "t", ResourceVersion: "900"},
		{Kind: "Manifest", Name: "a", ResourceVersion: "99"}, {Kind: "Manifest", Name: "b", ResourceVersion: "100"},
	})
	require.Equal(t, "100", r.state.NewestManifest)
	r.noteWritten(resolve.Result{Deleted: []string{"c"}, Wrote: []desired.Seen{{Kind: "Manifest", Name: "d", ResourceVersion: "101"}}})
	require.Equal(t, desired.Seen{Kind: "Manifest", ResourceVersion: "101"}, r.versions()[3], "beside what the kicks told")
	require.True(t, r.deleted, "of a deletion no version is known")
	r.forgetVersions()
	require.Empty(t, r.state.NewestManifest, "the next look has kicks of its own")
}

func TestADeletionRemembersTheNewestManifestButNotOneThatNobodyComesToKnow(t *testing.T) {
	r := &kymaRun{}
	r.state.Deleting = true
	r.note([]SeenVersion{{Kind: "Manifest", Name: "a", ResourceVersion: "100"}})
	r.forgetVersions()
	r.note(nil)
	require.Equal(t, "100", r.state.NewestManifest)
	r.state.ResolveFault = fault.Fault{Kind: fault.Transient, Reason: fleet.ReasonBehind}
	r.forgetVersions()
	require.Empty(t, r.state.NewestManifest, "as after a restore of the control plane")
}

func TestTheNewestVersionOfAKindIsKeptHoweverManyKicksThereAre(t *testing.T) {
	p := Pending{}
	for i := range maxSeen {
		p.Add(kick.Kick{Kind: "Manifest", Name: string(rune('a' + i)), ResourceVersion: "50"})
	}
	p.Add(kick.Kick{Kind: "Manifest", Name: "late", ResourceVersion: "51"})
	require.Len(t, p.Seen, maxSeen)
	require.Contains(t, p.Seen, SeenVersion{Kind: "Manifest", Name: "late", ResourceVersion: "51"})
}

func TestAKickAboutAManifestMayAskForAWholeLook(t *testing.T) {
	p := Pending{}
	p.Add(kick.Kick{Kind: "Manifest", Name: "a"})
	require.True(t, p.OnlyManifests)
	p.Add(kick.Kick{Kind: "Manifest", Name: "a", Whole: true})
	require.False(t, p.OnlyManifests)
}
