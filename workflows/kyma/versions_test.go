package kyma

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

func TestActivitiesGetTheVersionsThatCachesMustHave(t *testing.T) {
	r := &run{}
	r.note([]mailbox.SeenVersion{
		{Kind: "ModuleTemplate", Name: "t", ResourceVersion: "900"},
		{Kind: "Manifest", Name: "a", ResourceVersion: "99"}, {Kind: "Manifest", Name: "b", ResourceVersion: "100"},
	})
	require.Equal(t, "100", r.state.NewestManifest)
	r.noteWritten(resolve.Result{Deleted: []string{"c"}, Wrote: []desired.Seen{{Kind: "Manifest", Name: "d", ResourceVersion: "101"}}})
	require.Equal(t, desired.Seen{Kind: "Manifest", ResourceVersion: "101"}, r.versions()[3], "in addition to the versions from kicks")
	require.True(t, r.deleted, "a deletion has no known version")
	r.forgetVersions()
	require.Empty(t, r.state.NewestManifest, "the next reconcile has kicks of its own")
}

func TestADeletionKeepsTheNewestManifestUnlessNoCacheReachesIt(t *testing.T) {
	r := &run{}
	r.state.Deleting = true
	r.note([]mailbox.SeenVersion{{Kind: "Manifest", Name: "a", ResourceVersion: "100"}})
	r.forgetVersions()
	r.note(nil)
	require.Equal(t, "100", r.state.NewestManifest)
	r.state.ResolveFault = fault.Fault{Kind: fault.Transient, Reason: fleet.ReasonBehind}
	r.forgetVersions()
	require.Empty(t, r.state.NewestManifest, "for example after a restore of the control plane")
}
