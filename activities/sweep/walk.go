package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

const (
	// kymasAtOnce is how many Kymas of one shard each queue checks at a time.
	kymasAtOnce = 8
	// kymaDeadline bounds the check of one Kyma. probeDeadline bounds the check of a Kyma marked unreachable.
	kymaDeadline  = 20 * time.Second
	probeDeadline = 3 * time.Second
	// heartbeatEvery is well below the heartbeat timeout of 30 s.
	heartbeatEvery = 5 * time.Second
)

// WalkShard checks every Kyma of a shard once, spread evenly over the shard's share of the interval. It hands over
// immediately if its worker stops, and continues where an earlier attempt was interrupted.
func (a *Activities) WalkShard(ctx context.Context, in WalkInput) (WalkResult, error) {
	at := cursor{Started: a.options.Now(), Shards: a.options.Shards, ProbeFrom: in.ProbeFrom}
	if in.Shard >= a.options.Shards {
		return a.result(at), nil
	}
	if activity.HasHeartbeatDetails(ctx) {
		var resumed cursor
		if err := activity.GetHeartbeatDetails(ctx, &resumed); err == nil && resumed.Shards == at.Shards {
			at = resumed
		}
	}
	w := &walk{Activities: a, shard: in.Shard, pass: in.Pass, at: at, runStarted: in.RunStarted}
	err := w.run(ctx, activity.GetWorkerStopChannel(ctx), func(c cursor) { activity.RecordHeartbeat(ctx, c) })
	if err != nil {
		return WalkResult{}, fault.ToTemporal(err)
	}
	return a.result(w.cursor()), nil
}

// result returns the result of a walk that ended at this cursor.
func (a *Activities) result(at cursor) WalkResult {
	return WalkResult{
		Started: at.Started, Interval: a.options.Interval, Shards: a.options.Shards, ProbeFrom: at.ProbeFrom + at.Probed,
		Kymas: at.Kymas, Kicked: at.Kicked,
	}
}

// walk is one attempt to walk a shard.
type walk struct {
	*Activities
	shard int
	pass  int
	// at is the cursor at which the attempt began. runStarted is when the current run of the sweep's workflow started.
	at         cursor
	runStarted time.Time
	kicked     atomic.Int64

	mu sync.Mutex
	// answering and unreachable are the two queues. They are nil before the places are known.
	answering, unreachable *queue
}

// errHandedOver ends an attempt whose worker stops. Another worker continues at the cursor.
var errHandedOver = errors.New("handed over because the worker stops")

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

	w.releaseFormerAgents(ctx)
	places, err := w.places(ctx)
	if err != nil {
		return err
	}
	open, err := w.options.Open.OpenWorkflows(ctx, w.runStarted)
	if err != nil {
		return fmt.Errorf("list open workflows: %w", err)
	}
	if err := w.checkAll(ctx, places, open); err != nil {
		return err
	}
	w.kickOrphans(ctx, open)
	return context.Cause(ctx)
}

// releaseFormerAgents deletes the Manifests that earlier builds made for agents, once per interval, even if their Kyma is
// gone.
func (w *walk) releaseFormerAgents(ctx context.Context) {
	if w.shard != 0 {
		return
	}
	ours := func(m *v1beta2.Manifest) bool { return w.options.Ours(m.Labels) }
	if err := w.options.Marks.ReleaseFormerAgents(ctx, ours); err != nil {
		activity.GetLogger(ctx).Warn("sweep: cannot delete Manifests of agents; the next pass tries again", logkey.Error, err)
	}
}

func (w *walk) beat(ctx context.Context, heartbeat func(cursor)) {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	for {
		heartbeat(w.cursor())
		select {
		case <-ctx.Done():
			// The next attempt must know where this attempt ended.
			heartbeat(w.cursor())
			return
		case <-ticker.C:
		}
	}
}

// cursor returns the progress of the walk, including earlier attempts.
func (w *walk) cursor() cursor {
	w.mu.Lock()
	answering, unreachable := w.answering, w.unreachable
	w.mu.Unlock()
	at := w.at
	at.Kicked += int(w.kicked.Load())
	if answering == nil {
		return at
	}
	if upTo, kymas, begun := answering.position(); begun {
		at.Last = upTo
		at.Kymas += kymas
	}
	if upTo, kymas, begun := unreachable.position(); begun {
		at.Probed = at.alongRing(upTo) + 1
		at.Kymas += kymas
	}
	return at
}

// checkAll checks everything ahead in two independent queues, so that clusters marked unreachable never delay the others,
// however many there are. If not all unreachable clusters can be probed within the shard's share of the interval, the
// walk ends, and the next walk begins with the rest.
func (w *walk) checkAll(ctx context.Context, places []place, open Open) error {
	began, answered := w.options.Now(), make(chan struct{})
	until := slices.MaxFunc([]time.Time{w.at.Started.Add(w.share()), began.Add(probeDeadline)}, time.Time.Compare)
	w.mu.Lock()
	w.answering = w.newQueue(kymaDeadline, false, slices.DeleteFunc(slices.Clone(places), func(p place) bool { return !w.at.isAhead(p.position) }))
	w.answering.more = func() bool { return true }
	w.unreachable = w.newQueue(probeDeadline, true, slices.DeleteFunc(places, func(p place) bool { return !w.at.isUnprobed(p.position) }))
	w.unreachable.more = func() bool {
		select {
		case <-answered:
			return w.options.Now().Before(until)
		default:
			return true
		}
	}
	w.mu.Unlock()
	slices.SortFunc(w.unreachable.places, func(a, b place) int {
		return cmp.Compare(w.at.alongRing(a.position), w.at.alongRing(b.position))
	})

	var queues errgroup.Group
	queues.Go(func() error {
		defer close(answered)
		return w.answering.run(ctx, open)
	})
	queues.Go(func() error { return w.unreachable.run(ctx, open) })
	return queues.Wait()
}

func (w *walk) newQueue(deadline time.Duration, unreachable bool, places []place) *queue {
	return &queue{walk: w, deadline: deadline, unreachable: unreachable, places: places, steps: make([]step, len(places))}
}

// share returns this shard's share of the interval. A worker walks ShardsAtOnce shards at a time.
func (w *walk) share() time.Duration {
	return w.options.Interval * time.Duration(w.options.ShardsAtOnce) / time.Duration(w.options.Shards)
}

// turn returns when the i-th of n Kymas is checked in an attempt that began at this time. It leaves a tenth of the
// shard's share of the interval spare. An attempt that continues another one spreads the remaining Kymas over the
// remaining share.
func (w *walk) turn(began time.Time, i, n int) time.Time {
	remaining := max(w.at.Started.Add(w.share()*9/10).Sub(began), 0)
	return began.Add(remaining * time.Duration(i) / time.Duration(n))
}

func (w *walk) sleepUntil(ctx context.Context, at time.Time) error {
	wait := at.Sub(w.options.Now())
	if wait <= 0 {
		return context.Cause(ctx)
	}
	return objects.Sleep(ctx, wait)
}
