package sweep

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// kicksOf records kicks with all their fields.
type kicksOf struct {
	*fixture
	kymas []kick.Kick
}

func (k *kicksOf) Kyma(_ context.Context, _ kick.Ref, sent kick.Kick) error {
	k.kymas = append(k.kymas, sent)
	return nil
}

// pacingBench returns a quiet fleet in which a change of the catalog has reached no Kyma yet.
func pacingBench(t *testing.T, spread time.Duration, prepare func(*fixture, *v1beta2.Kyma)) (*Activities, *kicksOf) {
	t.Helper()
	f, kyma := quiet(), quietKyma()
	f.digest, kyma.Status.InputsDigest = "own.after", "own.before"
	prepare(f, kyma)
	a := activitiesFor(t, f, kyma, quietManifest())
	kicks := &kicksOf{fixture: f}
	a.options.Kicks, a.options.PacingSpan = kicks, spread
	return a, kicks
}

// The leader brings a change of the catalog to one Kyma after the other.
func TestTheSweepLeavesAChangeOfTheCatalogToTheLeader(t *testing.T) {
	a, kicks := pacingBench(t, 2*time.Hour, func(*fixture, *v1beta2.Kyma) {})
	begin := time.Now()
	now := begin
	a.options.Now = func() time.Time { return now }
	walk := func(after time.Duration) {
		now = begin.Add(after)
		_, err := walkShard(t, a, shardOf("uid"))
		require.NoError(t, err)
	}
	late := 2*time.Hour + 2*a.options.Interval
	walk(0)
	walk(late - time.Second)
	require.Empty(t, kicks.kymas, "the Kyma's turn may still come")
	require.True(t, kicks.awaited.Load(), "before its turn, the cluster lacks the change, but nobody has undone it")
	walk(late)
	require.Len(t, kicks.kymas, 1, "the leader has forgotten it")
	require.Nil(t, kicks.kymas[0].NotBefore)
	require.False(t, kicks.kymas[0].Urgent)
	walk(late + time.Minute)
	require.Len(t, kicks.kymas, 1, "the Kyma was just kicked")
	walk(2 * late)
	require.Len(t, kicks.kymas, 2, "the kick had no effect")
}

func TestDifferencesThatTheSweepDoesNotLeaveToPacing(t *testing.T) {
	edited := func() (bool, string, error) { return true, "remote Kyma was edited", nil }
	lacks := func() (bool, string, error) { return true, "remote catalog differs", nil }
	for name, tc := range map[string]struct {
		prepare func(*fixture, *v1beta2.Kyma)
		want    string
	}{
		"except a catalog that a paced change brings": {func(f *fixture, _ *v1beta2.Kyma) { f.probe = lacks }, ""},
		"an edit by the cluster's owner":              {func(f *fixture, _ *v1beta2.Kyma) { f.probe = edited }, "remote Kyma was edited"},
		"a change of the Kyma itself":                 {func(f *fixture, _ *v1beta2.Kyma) { f.digest = "new.after" }, "the inputs differ from those last reconciled"},
		"a Kyma without an open workflow":             {func(f *fixture, _ *v1beta2.Kyma) { f.open = Open{} }, "the Kyma has no open workflow"},
	} {
		t.Run(name, func(t *testing.T) {
			a, kicks := pacingBench(t, time.Hour, tc.prepare)
			_, err := walkShard(t, a, shardOf("uid"))
			require.NoError(t, err)
			if tc.want == "" {
				require.Empty(t, kicks.kymas)
				return
			}
			require.Len(t, kicks.kymas, 1)
			require.Equal(t, tc.want, kicks.kymas[0].Reason)
		})
	}
}

func TestAnOutdatedStatusIsAggregatedDuringAPacedChange(t *testing.T) {
	a, kicks := pacingBench(t, time.Hour, func(_ *fixture, kyma *v1beta2.Kyma) { kyma.Status.Modules[0].State = shared.StateProcessing })
	for range 2 {
		_, err := walkShard(t, a, shardOf("uid"))
		require.NoError(t, err)
	}
	require.Len(t, kicks.kymas, 2)
	for _, sent := range kicks.kymas {
		require.Equal(t, "the status differs from a Manifest", sent.Reason)
		require.Equal(t, "Manifest", sent.Kind, "so that only the status is aggregated")
		require.Nil(t, sent.NotBefore)
	}
}
