package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

const (
	// resync is the resync interval of tests that sweep often, and atOnce how many shards are walked at the same time: a pass
	// takes that share of the interval, spread over the Kymas of its shard.
	resync = 15 * time.Second
	atOnce = "2"
	// triggerInterval is how often the sweep of the few shards is triggered in which the Kymas of a test are: how late a
	// change in a remote cluster is seen.
	triggerInterval = 2 * time.Second
	// maxTriggered is the most Kymas for which that is done; larger fleets depend on the resync interval.
	maxTriggered = 8
)

// sweeps says when the sweep walks the shards of an environment's Kymas, besides its passes at the resync interval.
type sweeps struct {
	// often: every few seconds. never: nothing stands for a pass after an edit in a remote cluster either.
	often, never atomic.Bool
}

// SweepNever turns off the kicks of EditRemote; call it before the instance is started. It is for tests that count the events of
// an installation, or runs of workflows, and for tests of events.
func (s *Environment) SweepNever() { s.sweeps.never.Store(true) }

// SweepOften turns frequent sweeps on for a test of what only a sweep finds, such as drift or a cluster that answers again;
// call it before the instance is started. Without it there is hardly a pass, so that a watcher that forgets a kick fails a
// test, instead of being made good for by a pass some seconds later.
func (s *Environment) SweepOften() { s.sweeps.often.Store(true) }

// resyncInterval is the one that instances are started with.
func (s *Environment) resyncInterval() time.Duration {
	if s.sweeps.often.Load() {
		return resync
	}
	return time.Hour
}

// TriggerSweeps has the instances of a Temporal namespace walk the shards of the environment's Kymas more often than the
// others, until the test has cleaned up.
func (s *Environment) TriggerSweeps(namespace temporal.Client) {
	ctx, stop := context.WithCancel(context.WithoutCancel(s.T.Context()))
	var ended sync.WaitGroup
	ended.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if !s.sweeps.often.Load() {
				return
			}
			// Neither may answer: some tests stop the API server or Temporal. The next trigger is another attempt.
			shards, err := s.shards(ctx)
			if err != nil {
				return
			}
			for shard := range shards {
				_ = namespace.SignalWorkflow(ctx, kick.SweepWorkflowID(shard), "", kick.Signal, kick.Kick{Reason: "a test"})
			}
		}, triggerInterval)
	})
	s.T.Cleanup(ended.Wait)
	s.T.Cleanup(stop)
}

// shards are those in which the control plane has Kymas, if they are few, without Kymas that were just created: a pass
// during a first installation finds differences that are being worked on, and its kicks would count against the history.
func (s *Environment) shards(ctx context.Context) (sets.Set[int], error) {
	var kymas v1beta2.KymaList
	err := s.ControlPlane.List(ctx, &kymas)
	shards := sets.New[int]()
	if s.sweeps.never.Load() || len(kymas.Items) > maxTriggered {
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

// Sweeps has every shard walked so many times, one pass after the other, and waits until they have ended.
func (s *Environment) Sweeps(t *testing.T, walks int) {
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

// SweepShard has a shard walked once, and waits until that has ended.
func (s *Environment) SweepShard(t *testing.T, shard int) {
	t.Helper()
	from := time.Now()
	s.sweepNow(shard)
	s.Eventually(fmt.Sprintf("shard %d is walked", shard), 2*time.Minute, func(c *assert.CollectT) {
		assert.Positive(c, s.walks(t, shard, from))
	})
}

// FirstWalkEnds waits until the sweep has walked shard 0, which is the first thing that it does; the other shards have their
// turns later in the resync interval.
func (s *Environment) FirstWalkEnds(t *testing.T) {
	t.Helper()
	s.Eventually("shard 0 is walked for the first time", 2*time.Minute, func(c *assert.CollectT) {
		assert.Positive(c, s.walks(t, 0, time.Time{}))
	})
}

// sweepNow has a shard walked at once, or as soon as the current pass ends. It waits until the sweep of the shard is started,
// which without the signal waits for the shard's turn.
func (s *Environment) sweepNow(shard int) {
	s.T.Helper()
	s.Eventually(fmt.Sprintf("the sweep of shard %d runs", shard), 2*time.Minute, func(c *assert.CollectT) {
		require.NoError(c, s.Temporal.SignalWorkflow(s.T.Context(), kick.SweepWorkflowID(shard), "", kick.Signal, kick.Kick{Reason: "a test"}))
	})
}

// NoSweepRan requires that no pass over a shard has begun and ended since a time, so that what happened since was done for
// other reasons.
func (s *Environment) NoSweepRan(shard int, since time.Time) {
	s.T.Helper()
	require.Zero(s.T, s.walks(s.T, shard, since), "a pass over shard %d", shard)
}

// walks counts the passes over a shard that began after a time and have ended.
func (s *Environment) walks(t testing.TB, shard int, from time.Time) int {
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
