package sweep

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// kicksOf records whole kicks.
type kicksOf struct {
	*world
	kymas []kick.Kick
}

func (k *kicksOf) Kyma(_ context.Context, _ kick.Ref, sent kick.Kick) error {
	k.kymas = append(k.kymas, sent)
	return nil
}

// rolloutBench is a quiet fleet in which a change of the catalog has reached nobody yet.
func rolloutBench(t *testing.T, spread time.Duration, prepare func(*world, *v1beta2.Kyma)) (*Activities, *kicksOf) {
	t.Helper()
	f, kyma := quiet(), quietKyma()
	f.digest, kyma.Status.InputsDigest = "own.after", "own.before"
	prepare(f, kyma)
	a := activitiesFor(t, f, kyma, quietManifest())
	kicks := &kicksOf{world: f}
	a.options.Kicks, a.options.RolloutSpread = kicks, spread
	return a, kicks
}

func TestASweepThatFindsAChangeOfTheCatalogShortensNoRollout(t *testing.T) {
	a, kicks := rolloutBench(t, 2*time.Hour, func(*world, *v1beta2.Kyma) {})
	now := time.Now()
	a.options.Now = func() time.Time { return now }
	turn := now.Add(desired.RolloutDelay("uid", "own.after", 2*time.Hour))
	_, err := walkShard(t, a, shardOf("uid"))
	require.NoError(t, err)
	require.Len(t, kicks.kymas, 1)
	require.NotNil(t, kicks.kymas[0].NotBefore)
	require.Equal(t, turn, *kicks.kymas[0].NotBefore, "with the delay that the watchers give it")
	require.False(t, kicks.kymas[0].Urgent)
	require.True(t, kicks.awaited.Load(), "what the cluster lacks until then was not undone there")

	now = now.Add(5 * time.Minute)
	_, err = walkShard(t, a, shardOf("uid"))
	require.NoError(t, err)
	require.Len(t, kicks.kymas, 1, "it was told already")

	now = turn.Add(time.Second)
	_, err = walkShard(t, a, shardOf("uid"))
	require.NoError(t, err)
	require.Len(t, kicks.kymas, 2, "its turn came, and it did nothing")
}

func TestWhatDoesNotWaitForARolloutInASweep(t *testing.T) {
	edited := func() (bool, string, error) { return true, "remote Kyma was edited", nil }
	lacks := func() (bool, string, error) { return true, "remote catalog differs", nil }
	for name, tc := range map[string]struct {
		spread  time.Duration
		prepare func(*world, *v1beta2.Kyma)
		want    string
		waits   bool
	}{
		"a catalog that the roll-out brings does": {time.Hour, func(f *world, _ *v1beta2.Kyma) { f.probe = lacks }, "the inputs differ from those last looked at", true},
		"what the cluster's owner changed":        {time.Hour, func(f *world, _ *v1beta2.Kyma) { f.probe = edited }, "remote Kyma was edited", false},
		"a change of the Kyma itself":             {time.Hour, func(f *world, _ *v1beta2.Kyma) { f.digest = "new.after" }, "the inputs differ from those last looked at", false},
		"a roll-out without a span":               {0, func(*world, *v1beta2.Kyma) {}, "the inputs differ from those last looked at", false},
		"a Kyma without an open workflow":         {time.Hour, func(f *world, _ *v1beta2.Kyma) { f.open = Open{} }, "the Kyma has no open workflow", false},
	} {
		t.Run(name, func(t *testing.T) {
			a, kicks := rolloutBench(t, tc.spread, tc.prepare)
			_, err := walkShard(t, a, shardOf("uid"))
			require.NoError(t, err)
			require.Len(t, kicks.kymas, 1)
			require.Equal(t, tc.want, kicks.kymas[0].Reason)
			require.Equal(t, tc.waits, kicks.kymas[0].NotBefore != nil)
		})
	}
}

func TestAStatusThatIsBehindIsAggregatedDuringARollout(t *testing.T) {
	a, kicks := rolloutBench(t, time.Hour, func(_ *world, kyma *v1beta2.Kyma) { kyma.Status.Modules[0].State = shared.StateProcessing })
	for range 2 {
		_, err := walkShard(t, a, shardOf("uid"))
		require.NoError(t, err)
	}
	require.Len(t, kicks.kymas, 3)
	for _, sent := range kicks.kymas[1:] {
		require.Equal(t, "the status differs from a Manifest", sent.Reason)
		require.Equal(t, "Manifest", sent.Kind, "so that only the status is aggregated")
		require.Nil(t, sent.NotBefore)
	}
}
