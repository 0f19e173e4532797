package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/semaphore"
)

// patience is how long a reconcile in the background, or a wait, counts for its slot. A reconcile at a cluster that answers takes
// less, also where the processors are busy.
const patience = time.Second

// promptSlots are slots for tasks that are done soon. One that takes longer than patience, such as a reconcile of a
// cluster that does not answer, mostly waits: it gives its slot to another, so that such clusters delay none of the
// others, however many they are. It implements worker.SlotSupplier.
type promptSlots struct {
	// counted are the slots, all bounds how many tasks there are with those that do not count any more.
	counted, all *semaphore.Weighted
	most         int
	patience     time.Duration
}

// slot is what a permit of promptSlots contains.
type slot struct {
	// free gives the slot to another; once, however often it is called.
	free  func()
	timer *time.Timer
}

func newPromptSlots(count, most int) *promptSlots {
	most = max(count, most)
	return &promptSlots{
		counted: semaphore.NewWeighted(int64(count)), all: semaphore.NewWeighted(int64(most)), most: most, patience: patience,
	}
}

// ReserveSlot waits for a slot.
func (p *promptSlots) ReserveSlot(ctx context.Context, _ worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	if err := p.all.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for a slot: %w", err)
	}
	if err := p.counted.Acquire(ctx, 1); err != nil {
		p.all.Release(1)
		return nil, fmt.Errorf("wait for a slot: %w", err)
	}
	return p.permit(), nil
}

// TryReserveSlot returns nil where there is no slot at once.
func (p *promptSlots) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit {
	if !p.all.TryAcquire(1) {
		return nil
	}
	if !p.counted.TryAcquire(1) {
		p.all.Release(1)
		return nil
	}
	return p.permit()
}

func (p *promptSlots) permit() *worker.SlotPermit {
	return &worker.SlotPermit{UserData: &slot{free: sync.OnceFunc(func() { p.counted.Release(1) })}}
}

// MarkSlotUsed notes that a task begins.
func (p *promptSlots) MarkSlotUsed(info worker.SlotMarkUsedInfo) {
	if s, ours := info.Permit().UserData.(*slot); ours {
		s.timer = time.AfterFunc(p.patience, s.free)
	}
}

// ReleaseSlot notes that a task has ended, or that there was none.
func (p *promptSlots) ReleaseSlot(info worker.SlotReleaseInfo) {
	s, ours := info.Permit().UserData.(*slot)
	if !ours {
		return
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.free()
	p.all.Release(1)
}

// MaxSlots is how many tasks there are at most.
func (p *promptSlots) MaxSlots() int { return p.most }

// activityTuner is the SDK's tuner but for the activities.
type activityTuner struct {
	worker.WorkerTuner
	activities worker.SlotSupplier
}

func newActivityTuner(activities worker.SlotSupplier) activityTuner {
	others, _ := worker.NewFixedSizeTuner(worker.FixedSizeTunerOptions{}) // it fails for negative numbers only
	return activityTuner{others, activities}
}

// GetActivityTaskSlotSupplier has the slots for activities.
func (t activityTuner) GetActivityTaskSlotSupplier() worker.SlotSupplier { return t.activities }
