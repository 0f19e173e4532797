package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/semaphore"

	"github.com/kyma-project/lifecycle-manager/activities/install"
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

// tuner has these slots for activities.
func (p *promptSlots) tuner() tuner {
	t := newTuner(0)
	t.activities = p
	return t
}

// taskSlots are slots for workflow tasks. A task within which several modules are installed counts for as many, so that a
// process begins no more than it installs in time: what takes too long there is taken from a queue again. They implement
// worker.SlotSupplier and interceptor.WorkerInterceptor.
type taskSlots struct {
	interceptor.WorkerInterceptorBase
	free *semaphore.Weighted
	most int
}

func newTaskSlots(most int) *taskSlots {
	return &taskSlots{free: semaphore.NewWeighted(int64(most)), most: most}
}

// ReserveSlot waits for a slot.
func (t *taskSlots) ReserveSlot(ctx context.Context, _ worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	if err := t.free.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for a slot: %w", err)
	}
	return &worker.SlotPermit{}, nil
}

// TryReserveSlot returns nil where there is no slot at once.
func (t *taskSlots) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit {
	if !t.free.TryAcquire(1) {
		return nil
	}
	return &worker.SlotPermit{}
}

// MarkSlotUsed does nothing.
func (t *taskSlots) MarkSlotUsed(worker.SlotMarkUsedInfo) {}

// ReleaseSlot notes that a task has ended, or that there was none.
func (t *taskSlots) ReleaseSlot(worker.SlotReleaseInfo) { t.free.Release(1) }

// MaxSlots is how many tasks there are at most.
func (t *taskSlots) MaxSlots() int { return t.most }

// take takes further slots for a task that has one, and begins at once: while it lasts, slots that become free are its own.
// It returns what gives them back.
func (t *taskSlots) take(ctx context.Context, further int) func() {
	ctx, cancel := context.WithCancel(ctx)
	taken := make(chan error, 1)
	go func() { taken <- t.free.Acquire(ctx, int64(further)) }()
	return func() {
		cancel()
		if <-taken == nil {
			t.free.Release(int64(further))
		}
	}
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (t *taskSlots) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &takingSlots{of: t}
	i.Next = next
	return i
}

type takingSlots struct {
	interceptor.ActivityInboundInterceptorBase
	of *taskSlots
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (i *takingSlots) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	// No task has more than half of the slots: others have some as well, however many modules a Kyma has.
	if further := min(modulesIn(in.Args), i.of.most/2) - 1; further > 0 && activity.GetInfo(ctx).IsLocalActivity {
		defer i.of.take(ctx, further)()
	}
	return i.Next.ExecuteActivity(ctx, in)
}

// modulesIn is how many modules an activity with these arguments installs.
func modulesIn(args []any) int {
	for _, arg := range args {
		if modules, ok := arg.(install.ModulesInput); ok {
			return len(modules.Manifests)
		}
	}
	return 0
}

// tuner is the SDK's tuner, with so many slots for activities, but for those slots that it has itself.
type tuner struct {
	worker.WorkerTuner
	tasks, activities worker.SlotSupplier
}

func newTuner(activities int) tuner {
	others, _ := worker.NewFixedSizeTuner(worker.FixedSizeTunerOptions{NumActivitySlots: activities}) // it fails for negative numbers only
	return tuner{WorkerTuner: others, tasks: others.GetWorkflowTaskSlotSupplier(), activities: others.GetActivityTaskSlotSupplier()}
}

// GetWorkflowTaskSlotSupplier has the slots for workflow tasks.
func (t tuner) GetWorkflowTaskSlotSupplier() worker.SlotSupplier { return t.tasks }

// GetActivityTaskSlotSupplier has the slots for activities.
func (t tuner) GetActivityTaskSlotSupplier() worker.SlotSupplier { return t.activities }
