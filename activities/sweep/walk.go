package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// kymasAtOnce is how many Kymas of one shard are looked at at once.
	kymasAtOnce = 8
	// kymaDeadline bounds the look at one Kyma, probeDeadline that at one marked unreachable.
	kymaDeadline  = 20 * time.Second
	probeDeadline = 3 * time.Second
	// heartbeatEvery keeps the heartbeat time-out of 30 s from passing.
	heartbeatEvery = 5 * time.Second
)

// cursor is where a walk stands. It is heartbeated, so that another worker goes on from there.
type cursor struct {
	// Started is when the pass started.
	Started time.Time `json:"started"`
	// Last is the position of the last Kyma in hash order that was begun with.
	Last uint64 `json:"last"`
	// Kymas and Kicked count what was done so far.
	Kymas  int `json:"kymas"`
	Kicked int `json:"kicked"`
}

// WalkShard looks at every Kyma of a shard once, spread evenly over the shard's share of the interval. It
// hands over at once when its worker stops, and goes on where an earlier attempt was interrupted.
func (a *Activities) WalkShard(ctx context.Context, in WalkInput) (WalkResult, error) {
	at := cursor{Started: a.options.Now()}
	if in.Shard >= a.options.Shards {
		return WalkResult{Started: at.Started, Interval: a.options.Interval, Shards: a.options.Shards}, nil
	}
	if activity.HasHeartbeatDetails(ctx) {
		var resumed cursor
		if err := activity.GetHeartbeatDetails(ctx, &resumed); err == nil && !resumed.Started.IsZero() {
			at = resumed
		}
	}
	w := &walk{Activities: a, shard: in.Shard, at: at}
	err := w.run(ctx, activity.GetWorkerStopChannel(ctx), func(c cursor) { activity.RecordHeartbeat(ctx, c) })
	if err != nil {
		return WalkResult{}, fault.ToTemporal(err)
	}
	done := w.cursor()
	return WalkResult{Started: done.Started, Interval: a.options.Interval, Shards: a.options.Shards, Kymas: done.Kymas, Kicked: done.Kicked}, nil
}

// walk is one attempt to walk a shard.
type walk struct {
	*Activities
	shard  int
	kicked atomic.Int64

	mu sync.Mutex
	at cursor
}

// errHandedOver ends an attempt whose worker stops; another worker goes on at the cursor.
var errHandedOver = errors.New("the worker stops: handed over")

func (w *walk) run(ctx context.Context, stop <-chan struct{}, heartbeat func(cursor)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { w.beat(ctx, heartbeat) })
	defer cancel(nil)
	group.Go(func() {
		select {
		case <-stop:
			cancel(errHandedOver)
		case <-ctx.Done():
		}
	})

	kymas, err := w.kymas(ctx)
	if err != nil {
		return err
	}
	open, err := w.options.Open.OpenWorkflows(ctx)
	if err != nil {
		return fmt.Errorf("list open workflows: %w", err)
	}
	if err := w.lookAtAll(ctx, kymas, open); err != nil {
		return err
	}
	w.kickOrphans(ctx, open)
	return context.Cause(ctx)
}

func (w *walk) beat(ctx context.Context, heartbeat func(cursor)) {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	for {
		heartbeat(w.cursor())
		select {
		case <-ctx.Done():
			// Whoever goes on must know where this attempt ended.
			heartbeat(w.cursor())
			return
		case <-ticker.C:
		}
	}
}

// cursor is where the walk stands, with what this attempt and those before it have done.
func (w *walk) cursor() cursor {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.at
	at.Kicked += int(w.kicked.Load())
	return at
}

// kymas are the Kymas of this shard behind the cursor, in hash order.
func (w *walk) kymas(ctx context.Context) ([]*v1beta2.Kyma, error) {
	var list v1beta2.KymaList
	if err := w.options.Fleet.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list Kymas: %w", err)
	}
	var ours []*v1beta2.Kyma
	for i := range list.Items {
		kyma := &list.Items[i]
		if ShardOf(kyma.UID, w.options.Shards) == w.shard && Position(kyma.UID) > w.at.Last && w.options.Ours(kyma.Labels) && !desired.IsSyncedCopy(kyma) {
			ours = append(ours, kyma)
		}
	}
	slices.SortFunc(ours, func(a, b *v1beta2.Kyma) int { return cmp.Compare(Position(a.UID), Position(b.UID)) })
	return ours, nil
}

// ShardOf is the shard of an entity in a fleet of so many shards.
func ShardOf(uid types.UID, shards int) int {
	return int(Position(uid) % uint64(shards))
}

// Position is the place of an entity in hash order.
func Position(uid types.UID) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(uid))
	return h.Sum64()
}

// lookAtAll starts the looks evenly over this shard's share of the interval. Clusters that are marked
// unreachable have a lane of their own, so that they never hold up the others.
func (w *walk) lookAtAll(ctx context.Context, kymas []*v1beta2.Kyma, open Open) error {
	lanes := map[bool]chan struct{}{true: make(chan struct{}, kymasAtOnce), false: make(chan struct{}, kymasAtOnce)}
	var looks sync.WaitGroup
	defer looks.Wait()
	began := w.options.Now()
	for i, kyma := range kymas {
		if err := w.sleepUntil(ctx, w.turn(began, i, len(kymas))); err != nil {
			return err
		}
		reachable := !markedUnreachable(kyma)
		lane := lanes[reachable]
		select {
		case lane <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		w.mu.Lock()
		w.at.Last = Position(kyma.UID)
		w.at.Kymas++
		w.mu.Unlock()
		looks.Go(func() {
			defer func() { <-lane }()
			w.lookAt(ctx, kyma, open, reachable)
		})
	}
	return nil
}

// turn is when the i-th of the n Kymas of an attempt that began then is looked at. A worker walks ShardsAtOnce
// shards at once, so each has that share of the interval; a tenth is left to spare. An attempt that goes on where
// another one ended spreads what is left over what is left of the share.
func (w *walk) turn(began time.Time, i, n int) time.Time {
	share := w.options.Interval * time.Duration(w.options.ShardsAtOnce) / time.Duration(w.options.Shards) * 9 / 10
	left := max(w.at.Started.Add(share).Sub(began), 0)
	return began.Add(left * time.Duration(i) / time.Duration(n))
}

func (w *walk) sleepUntil(ctx context.Context, at time.Time) error {
	wait := at.Sub(w.options.Now())
	if wait <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// markedUnreachable tells whether the last look found that the Kyma's cluster cannot be reached.
func markedUnreachable(kyma *v1beta2.Kyma) bool {
	remote := kyma.Status.Remote
	return remote != nil && remote.Reachable != nil && !*remote.Reachable
}
