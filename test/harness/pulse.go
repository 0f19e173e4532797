package harness

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// resync is the tests' resync interval, and atOnce how many shards are walked at once: a walk takes that share of
	// the interval, spread over the Kymas of its shard.
	resync = 15 * time.Second
	atOnce = "2"
	// pulse is how often the few shards are walked in which the Kymas of a test are: how late it sees a change in a
	// remote cluster.
	pulse = 2 * time.Second
	// pulsed is how many Kymas that are at most; a larger fleet is left to the resync interval.
	pulsed = 8
)

// SweepRarely leaves all that follows to kicks; call it before the instance is started. It is for tests that count the
// events of an installation: walks as frequent as the tests' find it under way where the machine is slow, and their
// kicks would count.
func (s *Stage) SweepRarely() {
	s.sweepsRarely.Store(true)
	s.Instance.Flags = append(s.Instance.Flags, "--resync-interval", time.Hour.String())
}

// Beat has the shards of the stage's Kymas walked more often than the others by the instances of a Temporal namespace,
// until the test has cleaned up.
func (s *Stage) Beat(namespace temporal.Client) {
	ctx, stop := context.WithCancel(context.WithoutCancel(s.T.Context()))
	var ended sync.WaitGroup
	ended.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			// Neither may answer: some tests stop the API server or Temporal. The next beat is another try.
			shards, err := s.shards(ctx)
			if err != nil {
				return
			}
			for shard := range shards {
				_ = namespace.SignalWorkflow(ctx, kick.SweepWorkflowID(shard), "", kick.Signal, kick.Kick{Reason: "a test"})
			}
		}, pulse)
	})
	s.T.Cleanup(ended.Wait)
	s.T.Cleanup(stop)
}

// shards are those in which the control plane has Kymas, where it has few, but for those that have just begun: a walk in the midst of a
// first installation finds differences that are being worked on, and their kicks would count against its history.
func (s *Stage) shards(ctx context.Context) (sets.Set[int], error) {
	var kymas v1beta2.KymaList
	err := s.ControlPlane.List(ctx, &kymas)
	shards := sets.New[int]()
	if s.sweepsRarely.Load() || len(kymas.Items) > pulsed {
		return shards, err
	}
	for _, kyma := range kymas.Items {
		begins := kyma.Status.State == "" || kyma.Status.State == shared.StateProcessing
		if !begins || time.Since(kyma.CreationTimestamp.Time) > time.Minute {
			shards.Insert(sweep.ShardOf(kyma.UID, sweep.DefaultShards))
		}
	}
	return shards, err
}

// Sweeps has every shard walked so many times, one walk after the other, and waits until they have ended.
func (s *Stage) Sweeps(t *testing.T, walks int) {
	t.Helper()
	for range walks {
		from := time.Now()
		for shard := range sweep.DefaultShards {
			s.sweepNow(shard)
		}
		for shard := range sweep.DefaultShards {
			// Most shards are through by the time that the first is.
			for began := time.Now(); s.walks(t, shard, from) == 0; time.Sleep(100 * time.Millisecond) {
				require.Less(t, time.Since(began), 2*time.Minute, "shard %d is not walked", shard)
			}
		}
	}
}

// sweepNow has a shard walked at once, or as soon as the walk ends that is under way.
func (s *Stage) sweepNow(shard int) {
	s.T.Helper()
	err := s.Temporal.SignalWorkflow(s.T.Context(), kick.SweepWorkflowID(shard), "", kick.Signal, kick.Kick{Reason: "a test"})
	if notFound := new(serviceerror.NotFound); errors.As(err, &notFound) {
		return // it has yet to be started, which begins with a walk
	}
	require.NoError(s.T, err)
}

// walks counts the walks of a shard that began after a time and have ended.
func (s *Stage) walks(t *testing.T, shard int, from time.Time) int {
	t.Helper()
	walks, begun := 0, map[int64]bool{}
	events := s.Temporal.GetWorkflowHistory(t.Context(), kick.SweepWorkflowID(shard), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if notFound := new(serviceerror.NotFound); errors.As(err, &notFound) {
			return 0 // the sweep of this shard has yet to be started
		}
		require.NoError(t, err)
		if event.GetActivityTaskScheduledEventAttributes() != nil && event.GetEventTime().AsTime().After(from) {
			begun[event.GetEventId()] = true
		}
		if ended := event.GetActivityTaskCompletedEventAttributes(); ended != nil && begun[ended.GetScheduledEventId()] {
			walks++
		}
	}
	return walks
}
