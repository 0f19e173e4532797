package sync

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// putOff makes the owner of the remote Kyma defer upgrades.
func (b *bench) putOff(t *testing.T, until string) Result {
	t.Helper()
	b.editRemote(t, func(k *v1beta2.Kyma) { k.Annotations[shared.AnnotationDeferUpgradesUntil] = until })
	return b.sync(t)
}

func TestADeferralOfTheRemoteOwnerIsAccepted(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
	b.sync(t)
	require.Empty(t, b.kyma(t).Status.Remote.DeferUpgradesUntil)
	const until = "keda=2026-12-24T18:00:00Z"
	result := b.putOff(t, until)
	require.True(t, result.AcceptedChange, "modules are resolved again")
	require.Zero(t, result.Faults[fault.PartInvalid])
	require.Equal(t, until, b.kyma(t).Status.Remote.DeferUpgradesUntil)
	b.forget()
	require.False(t, b.sync(t).AcceptedChange)
	require.Empty(t, b.control.Writes())

	require.NoError(t, b.remote.Delete(t.Context(), b.remoteKyma(t)))
	b.sync(t)
	require.Equal(t, until, b.remoteKyma(t).Annotations[shared.AnnotationDeferUpgradesUntil], "the annotation is restored with the Kyma")

	require.True(t, b.putOff(t, "").AcceptedChange)
	require.Empty(t, b.kyma(t).Status.Remote.DeferUpgradesUntil)
}

func TestAnInvalidDeferralIsReportedAndAllElseAccepted(t *testing.T) {
	for _, until := range []string{"soon", strings.Repeat("ä", 5000)} {
		b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{})
		b.sync(t)
		b.editRemote(t, func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
		result := b.putOff(t, until)
		require.Equal(t, ReasonRemoteKymaInvalid, result.Faults[fault.PartInvalid].Reason)
		require.Contains(t, result.Faults[fault.PartInvalid].Message,
			"its annotation operator.kyma-project.io/defer-upgrades-until defers nothing: must be a time such as")
		remote := b.kyma(t).Status.Remote
		require.Equal(t, "fast", remote.Channel)
		require.True(t, strings.HasPrefix(until, remote.DeferUpgradesUntil))
		require.LessOrEqual(t, len(remote.DeferUpgradesUntil), 4096)
		b.forget()
		require.NotZero(t, b.sync(t).Faults[fault.PartInvalid], "as long as the annotation exists")
		require.Empty(t, b.control.Writes(), "everything else is accepted once")
	}
}
