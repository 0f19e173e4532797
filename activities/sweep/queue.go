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

// queue checks the Kymas of a shard whose clusters are of one kind: those that answer, or those marked unreachable. Each
// queue has its own goroutines and its own place in the shard, so that neither ever waits for the other.
//
// Which queue a Kyma belongs to is decided when it has its turn there. Where it changes meanwhile, both may pass it over or
// both check it; but only a reconcile by its own workflow changes it, so that it was checked just then.
type queue struct {
	*walk
	// unreachable is the kind, deadline bounds each check.
	unreachable bool
	deadline    time.Duration
	// more tells whether to begin with another one.
	more func() bool
	// places are those of all Kymas of the shard that have yet to be checked, in the order of the queue.
	places []place

	mu sync.Mutex
	// steps are what became of each place, ended how many have come to an end from the first on without a gap, kymas how
	// many of these were checked.
	steps        []step
	ended, kymas int
}

// step is what became of a place in a queue.
type step int

const (
	pending step = iota
	passed
	checked
)

// run starts the checks evenly over this shard's share of the interval, and returns when all have ended. Its error is why
// the walk was interrupted.
func (l *queue) run(ctx context.Context, open Open) error {
	var checks errgroup.Group
	checks.SetLimit(kymasAtOnce)
	defer func() { _ = checks.Wait() }() // a check has no error
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

// has tells whether a Kyma is one of this queue.
func (l *queue) has(kyma *v1beta2.Kyma) bool { return kyma.IsMarkedUnreachable() == l.unreachable }

// end notes what became of a place.
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

// position is the one up to which there is no gap, and how many Kymas were checked up to there; false where that is
// none.
func (l *queue) position() (upTo uint64, kymas int, begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == 0 {
		return 0, 0, false
	}
	return l.places[l.ended-1].position, l.kymas, true
}
