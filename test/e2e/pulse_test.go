package e2e

import (
	"context"
	"sync"
	"time"

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

// beat has the shards of the stage's Kymas walked more often than the others by the instances of a Temporal namespace,
// until the test has cleaned up.
func (s *stage) beat(namespace temporal.Client) {
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
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
	s.t.Cleanup(ended.Wait)
	s.t.Cleanup(stop)
}

// shards are those in which the control plane has Kymas, where it has few, but for those that have just begun: a walk in the midst of a
// first installation finds differences that are being worked on, and their kicks would count against its history.
func (s *stage) shards(ctx context.Context) (sets.Set[int], error) {
	var kymas v1beta2.KymaList
	err := s.controlPlane.List(ctx, &kymas)
	shards := sets.New[int]()
	if len(kymas.Items) > pulsed {
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
