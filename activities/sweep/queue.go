package sweep

import (
	"context"
	"sync"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// queue checks the Kymas of a shard with one kind of cluster: clusters that answer, or clusters marked unreachable. Each
// queue has its own goroutines and its own position in the shard, so that neither ever waits for the other.
//
// A Kyma's queue is decided at its turn. If its mark changes meanwhile, both queues may skip the Kyma or both may check
// it. This is harmless, because only a reconcile changes the mark, so the Kyma was checked at that moment.
type queue struct {
	*walk
	// unreachable selects the kind of cluster. deadline bounds each check.
	unreachable bool
	deadline    time.Duration
	// more reports whether to start another check.
	more func() bool
	// places are the Kymas of the shard that have yet to be checked, in the order of the queue.
	places []place

	mu sync.Mutex
	// steps are the results for the places. ended is the number of places from the first on that have ended without a
	// gap. kymas is how many of these were checked.
	steps        []step
	ended, kymas int
}

// step is the result for one place in a queue.
type step int

const (
	pending step = iota
	passed
	checked
)

// run starts the checks, spread evenly over this shard's share of the interval, and returns after all have ended. It
// returns an error if the walk was interrupted.
func (l *queue) run(ctx context.Context, open Open) error {
	var checks errgroup.Group
	checks.SetLimit(kymasAtOnce)
	defer func() { _ = checks.Wait() }() // checks return no error
	began := l.options.Now()
	for i, at := range l.places {
		if err := l.sleepUntil(ctx, l.turn(began, i, len(l.places))); err != nil {
			return err
		}
		kyma, err := l.read(ctx, at)
		if err != nil {
			activity.GetLogger(ctx).Warn("sweep: cannot read a Kyma", logkey.Kyma, at.String(),
				logkey.EntityWorkflowID, kick.KymaWorkflowID(kick.Ref{Namespace: at.Namespace, Name: at.Name, UID: at.uid}), logkey.Error, err)
		}
		if kyma == nil || !l.has(kyma) {
			l.end(i, passed)
			continue
		}
		if !l.more() {
			return nil
		}
		checks.Go(func() error {
			l.check(ctx, kyma, open, l.deadline)
			if ctx.Err() == nil {
				l.end(i, checked)
			}
			return nil
		})
	}
	return nil
}

// has reports whether a Kyma belongs to this queue.
func (l *queue) has(kyma *v1beta2.Kyma) bool { return kyma.IsMarkedUnreachable() == l.unreachable }

// end records the result for a place.
func (l *queue) end(i int, as step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps[i] = as
	for l.ended < len(l.steps) && l.steps[l.ended] != pending {
		if l.steps[l.ended] == checked {
			l.kymas++
		}
		l.ended++
	}
}

// position returns the last position before the first gap, and the number of Kymas checked up to there. It returns false
// if there is none.
func (l *queue) position() (upTo uint64, kymas int, begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == 0 {
		return 0, 0, false
	}
	return l.places[l.ended-1].position, l.kymas, true
}
