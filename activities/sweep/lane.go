package sweep

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// lane looks at the Kymas of a shard whose clusters are of one kind: those that answer, or those marked unreachable. Each
// lane has its own goroutines and its own place in the shard, so that neither ever waits for the other.
//
// Which lane a Kyma belongs to is decided when it has its turn there. Where it changes meanwhile, both may pass it over or
// both look at it; but only a look of its own workflow changes it, so that it was looked at just then.
type lane struct {
	*walk
	// unreachable is the kind, deadline bounds each look.
	unreachable bool
	deadline    time.Duration
	// more tells whether to begin with another look.
	more func() bool
	// places are those of all Kymas of the shard that have yet to be looked at, in the order of the lane.
	places []place

	mu sync.Mutex
	// steps are what became of each place, ended how many have come to an end from the first on without a gap, kymas how
	// many of these were looked at.
	steps        []step
	ended, kymas int
}

// step is what became of a place in a lane.
type step int

const (
	pending step = iota
	passed
	looked
)

// run starts the looks evenly over this shard's share of the interval, and returns when all have ended. Its error is why
// the walk was interrupted.
func (l *lane) run(ctx context.Context, open Open) error {
	var looks errgroup.Group
	looks.SetLimit(kymasAtOnce)
	defer func() { _ = looks.Wait() }() // a look has no error
	began := l.options.Now()
	for i, at := range l.places {
		if err := l.sleepUntil(ctx, l.turn(began, i, len(l.places))); err != nil {
			return err
		}
		kyma, err := l.read(ctx, at)
		if err != nil {
			activity.GetLogger(ctx).Warn("sweep: cannot read a Kyma", "kyma", at.String(), "error", err)
		}
		if kyma == nil || !l.has(kyma) {
			l.end(i, passed)
			continue
		}
		if !l.more() {
			return nil
		}
		looks.Go(func() error {
			l.lookAt(ctx, kyma, open, l.deadline)
			if ctx.Err() == nil {
				l.end(i, looked)
			}
			return nil
		})
	}
	return nil
}

// has tells whether a Kyma is one of this lane.
func (l *lane) has(kyma *v1beta2.Kyma) bool { return kyma.IsMarkedUnreachable() == l.unreachable }

// end notes what became of a place.
func (l *lane) end(i int, as step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps[i] = as
	for l.ended < len(l.steps) && l.steps[l.ended] != pending {
		if l.steps[l.ended] == looked {
			l.kymas++
		}
		l.ended++
	}
}

// stands is the position up to which there is no gap, and how many Kymas were looked at up to there; false where that is
// none.
func (l *lane) stands() (upTo uint64, kymas int, begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == 0 {
		return 0, 0, false
	}
	return l.places[l.ended-1].position, l.kymas, true
}
