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
	// kymasAtOnce is how many Kymas of one shard each queue checks at once.
	kymasAtOnce = 8
	// kymaDeadline bounds the check of one Kyma, probeDeadline that of one marked unreachable.
	kymaDeadline  = 20 * time.Second
	probeDeadline = 3 * time.Second
	// heartbeatEvery keeps the heartbeat time-out of 30 s from passing.
	heartbeatEvery = 5 * time.Second
)

// WalkShard checks every Kyma of a shard once, spread evenly over the shard's share of the interval. It
// hands over at once when its worker stops, and continues where an earlier attempt was interrupted.
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

// result is how a walk went that has come to its end here.
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
	// pass is the number of the pass.
	pass int
	// at is where the attempt began, and runStarted when the run of the sweep did that it belongs to.
	at         cursor
	runStarted time.Time
	kicked     atomic.Int64

	mu sync.Mutex
	// answering and unreachable are the queues; nil until it is known where they lead.
	answering, unreachable *queue
}

// errHandedOver ends an attempt whose worker stops; another worker continues at the cursor.
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

// releaseFormerAgents deletes what earlier builds made for agents, once per interval: also where the Kyma is gone.
func (w *walk) releaseFormerAgents(ctx context.Context) {
	if w.shard != 0 {
		return
	}
	ours := func(m *v1beta2.Manifest) bool { return w.options.Ours(m.Labels) }
	if err := w.options.Marks.ReleaseFormerAgents(ctx, ours); err != nil {
		activity.GetLogger(ctx).Warn("sweep: cannot delete Manifests of agents, the next pass will", logkey.Error, err)
	}
}

func (w *walk) beat(ctx context.Context, heartbeat func(cursor)) {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	for {
		heartbeat(w.cursor())
		select {
		case <-ctx.Done():
			// Whoever continues must know where this attempt ended.
			heartbeat(w.cursor())
			return
		case <-ticker.C:
		}
	}
}

// cursor is how far the walk is, with what this attempt and those before it have done.
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

// checkAll checks what is ahead, in two queues that know nothing of each other: however many clusters are marked
// unreachable, they never delay the others. Where those cannot all be probed within the shard's share of the interval,
// the walk ends without the rest, with which the next one begins.
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

// share is this shard's share of the interval: a worker walks ShardsAtOnce shards at once.
func (w *walk) share() time.Duration {
	return w.options.Interval * time.Duration(w.options.ShardsAtOnce) / time.Duration(w.options.Shards)
}

// turn is when the i-th of the n Kymas of an attempt that began then is checked, so that a tenth of the shard's share of
// the interval is spare. An attempt that continues where another one ended spreads what remains over what remains
// of the share.
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
