package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// slow is a remote cluster that answers after a while, or not at all.
type slow struct {
	answersAfter time.Duration

	mu               sync.Mutex
	now, most, asked int
	took             []time.Duration
	began            []time.Time
}

func (s *slow) Probe(ctx context.Context, _ *v1beta2.Kyma, _ bool) (bool, string, error) {
	began := time.Now()
	s.mu.Lock()
	s.now++
	s.asked++
	s.most = max(s.most, s.now)
	s.began = append(s.began, began)
	s.mu.Unlock()
	var err error
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(s.answersAfter):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	s.took = append(s.took, time.Since(began))
	return false, "", err
}

// fleetOf returns n Kymas of one shard with their open workflows, in hash order.
func fleetOf(n int, change func(i int, kyma *v1beta2.Kyma)) (*fixture, []client.Object) {
	f := quiet()
	var kymas []client.Object
	for i := 0; len(kymas) < n; i++ {
		kyma := quietKyma()
		kyma.Status.Modules = nil // there are no Manifests
		kyma.Name, kyma.UID = fmt.Sprintf("kyma-%d", i), types.UID(fmt.Sprintf("uid-%d", i))
		if shardOf(kyma.UID) != 7 {
			continue
		}
		if change != nil {
			change(len(kymas), kyma)
		}
		f.open[kick.KymaWorkflowID(kick.RefOf(kyma))] = time.Now()
		kymas = append(kymas, kyma)
	}
	return f, kymas
}

// locked receives kicks from many goroutines.
type locked struct {
	mu sync.Mutex
	*fixture
}

func (l *locked) Kyma(ctx context.Context, ref kick.Ref, k kick.Kick) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fixture.Kyma(ctx, ref, k)
}

func walked(t *testing.T, a *Activities) {
	t.Helper()
	w := &walk{Activities: a, shard: 7, at: cursor{Started: a.options.Now()}}
	require.NoError(t, w.run(t.Context(), nil, func(cursor) {}))
}

func TestEightClustersOfAShardAreCheckedAtATimeForAtMostTwentySeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, kymas := fleetOf(20, nil)
		a, hangs := activitiesFor(t, f, kymas...), &slow{answersAfter: time.Hour}
		a.options.Remote = hangs
		walked(t, a)
		require.Equal(t, 20, hangs.asked)
		require.Equal(t, 8, hangs.most)
		for _, took := range hangs.took {
			require.Equal(t, 20*time.Second, took)
		}
	})
}

// A thousand unreachable clusters must not delay the others.
func TestUnreachableClustersGetAShortProbeInTheirOwnQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := false
		f, kymas := fleetOf(20, func(i int, kyma *v1beta2.Kyma) {
			if i < 8 {
				kyma.Status.Remote.Reachable = &gone
			}
		})
		a, hangs := activitiesFor(t, f, kymas...), &slow{answersAfter: time.Hour}
		a.options.Remote = hangs
		// All at once.
		a.options.Interval = time.Nanosecond
		began := time.Now()
		walked(t, a)
		require.Equal(t, 16, hangs.most, "eight in each queue")
		short := 0
		for _, took := range hangs.took {
			if took == 3*time.Second {
				short++
			} else {
				require.Equal(t, 20*time.Second, took)
			}
		}
		require.Equal(t, 8, short)
		require.Equal(t, 40*time.Second, time.Since(began), "twelve hanging clusters take two rounds, the eight others add none")
	})
}

func TestAWalkSpreadsChecksEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, kymas := fleetOf(9, nil)
		a, quick := activitiesFor(t, f, kymas...), &slow{answersAfter: time.Millisecond}
		a.options.Remote, a.options.Interval = quick, 10*time.Minute
		walked(t, a)
		for i := range quick.began[1:] {
			require.InDelta(t, time.Minute.Seconds(), quick.began[i+1].Sub(quick.began[i]).Seconds(), 1)
		}
	})
}

// If the sweep finds a change that affects the whole fleet, its kicks must not hit Temporal and the clusters all at once.
func TestTheKicksOfAPassAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, kymas := fleetOf(21, nil)
		f.digest = "then"
		a := activitiesFor(t, f, kymas...)
		a.options.Kicks = &locked{fixture: f}
		a.options.KickLimit, a.options.Interval = rate.NewLimiter(rate.Every(time.Second), 1), time.Nanosecond
		began := time.Now()
		walked(t, a)
		require.Len(t, f.kicked, 21)
		require.InDelta(t, 20, time.Since(began).Seconds(), 1)
	})
	a, err := New(Options{
		Fleet: activitiesFor(t, quiet()).options.Fleet, Live: activitiesFor(t, quiet()).options.Live,
		Inputs: quiet(), Remote: quiet(), Modules: moduleProbe{quiet()}, Marks: quiet(), Kicks: quiet(), Open: quiet(),
	})
	require.NoError(t, err)
	require.InDelta(t, 50, float64(a.options.KickLimit.Limit()), 0)
	require.Equal(t, 8, a.options.Shards)
}

func TestAnAttemptContinuesFromTheLastHeartbeat(t *testing.T) {
	f, kymas := fleetOf(3, nil)
	f.digest = "then"
	a := activitiesFor(t, f, kymas...)
	a.options.Kicks = &locked{fixture: f}
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	started := time.Now().Add(-time.Minute).UTC().Round(0)
	last := uint64(0)
	for _, kyma := range kymas[:2] {
		last = max(last, fleet.Position(kyma.GetUID()))
	}
	done := 0
	for _, kyma := range kymas {
		if fleet.Position(kyma.GetUID()) <= last {
			done++
		}
	}
	env.SetHeartbeatDetails(cursor{Started: started, Shards: DefaultShards, Last: last, Kymas: done, Kicked: 1})
	value, err := env.ExecuteActivity(a.WalkShard, WalkInput{Shard: 7})
	require.NoError(t, err)
	var res WalkResult
	require.NoError(t, value.Get(&res))
	require.Equal(t, 3, res.Kymas)
	require.Equal(t, 1+3-done, res.Kicked)
	require.True(t, started.Equal(res.Started), "the pass began with its first attempt")
	require.Len(t, f.kicked, 3-done)
}

// With another number of shards, the shard with the same number is another part of the fleet.
func TestAnAttemptStartsOverIfTheNumberOfShardsChanged(t *testing.T) {
	f, kymas := fleetOf(3, nil)
	a := activitiesFor(t, f, kymas...)
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	env.SetHeartbeatDetails(cursor{Started: time.Now().Add(-time.Minute), Shards: DefaultShards + 1, Last: math.MaxUint64, Kymas: 100})
	value, err := env.ExecuteActivity(a.WalkShard, WalkInput{Shard: 7})
	require.NoError(t, err)
	var res WalkResult
	require.NoError(t, value.Get(&res))
	require.Equal(t, 3, res.Kymas)
}

func TestAWalkHandsOverWhenItsWorkerStops(t *testing.T) {
	f, kymas := fleetOf(3, nil)
	a := activitiesFor(t, f, kymas...)
	a.options.Interval = 5 * time.Second
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	stop := make(chan struct{})
	close(stop)
	env.SetWorkerStopChannel(stop)
	_, err := env.ExecuteActivity(a.WalkShard, WalkInput{Shard: 7})
	require.ErrorContains(t, err, "handed over")
}

// failing is a fleet in which something does not answer.
type failing struct{ *fixture }

func (failing) Digest(context.Context, *v1beta2.Kyma) (string, error) {
	return "", errors.New("no answer")
}

func (failing) Kyma(context.Context, kick.Ref, kick.Kick) error {
	return errors.New("resource exhausted")
}

func TestAFailedInputsDigestIsNotADifference(t *testing.T) {
	f := quiet()
	a := activitiesFor(t, f, quietKyma(), quietManifest())
	a.options.Inputs = failing{f}
	res, err := walkShard(t, a, shardOf("uid"))
	require.NoError(t, err)
	require.Equal(t, 1, res.Kymas)
	require.Empty(t, f.kicked)
}

// The next pass finds the same difference again.
func TestAFailedKickDoesNotEndTheWalkAndIsNotCounted(t *testing.T) {
	f, kymas := fleetOf(3, nil)
	f.digest = "then"
	a := activitiesFor(t, f, kymas...)
	a.options.Kicks = failing{f}
	res, err := walkShard(t, a, 7)
	require.NoError(t, err)
	require.Equal(t, 3, res.Kymas)
	require.Zero(t, res.Kicked)
}

func TestAKymaOfAnotherInstanceIsNotWalked(t *testing.T) {
	f, kyma := quiet(), quietKyma()
	f.open, kyma.Labels = Open{}, map[string]string{"operator.kyma-project.io/managed-by": "another"}
	a := activitiesFor(t, f, kyma)
	a.options.Ours = desired.Settings{}.WithDefaults().Ours
	res, err := walkShard(t, a, shardOf("uid"))
	require.NoError(t, err)
	require.Zero(t, res.Kymas)
	require.Empty(t, f.kicked)
}

// heard records the kicks that were sent.
type heard struct {
	*fixture
	kicks []kick.Kick
}

func (h *heard) Kyma(_ context.Context, _ kick.Ref, k kick.Kick) error {
	h.kicks = append(h.kicks, k)
	return nil
}

func (h *heard) Manifest(_ context.Context, _, ref kick.Ref, k kick.Kick) error {
	k.Name = ref.Name
	h.kicks = append(h.kicks, k)
	return nil
}

// An edit by the cluster's owner counts like a change of the spec in the control plane. Other differences are paced.
func TestOnlyAnEditInTheRemoteClusterIsUrgent(t *testing.T) {
	for urgent, prepare := range map[bool]func(*fixture){
		true: func(f *fixture) {
			f.probe = func() (bool, string, error) { return true, "remote Kyma was edited", nil }
		},
		false: func(f *fixture) { f.digest = "then" },
	} {
		f := quiet()
		prepare(f)
		a, h := activitiesFor(t, f, quietKyma(), quietManifest()), &heard{fixture: f}
		a.options.Kicks = h
		_, err := walkShard(t, a, shardOf("uid"))
		require.NoError(t, err)
		require.Len(t, h.kicks, 1)
		require.Equal(t, urgent, h.kicks[0].Urgent, h.kicks[0].Reason)
	}
}

func TestWorkflowsOfReplacedKymasAreOrphansToo(t *testing.T) {
	f := quiet()
	old := time.Now().Add(-time.Hour)
	// The uid decides: it belongs to the shard, and no Kyma has it any more.
	f.open["kyma/kcp-system/other/uid"] = old
	f.open["sweep/07"] = old
	other := quietKyma()
	other.Name, other.UID = "other", "another-uid"
	a := activitiesFor(t, f, quietKyma(), quietManifest(), other)
	w := &walk{Activities: a, shard: shardOf("uid")}
	w.kickOrphans(t.Context(), f.open)
	require.Equal(t, map[string]string{
		"open kyma/kcp-system/other/uid": "the resource was not found",
	}, f.kicked)

	f.kicked = map[string]string{}
	w.shard = (w.shard + 1) % DefaultShards
	w.kickOrphans(t.Context(), f.open)
	require.Empty(t, f.kicked, "each orphan belongs to one shard")
}
