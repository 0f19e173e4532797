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

// patience is how long a background reconcile or a wait counts for its slot. A reconcile takes less time if its
// cluster answers, even if the processors are busy.
const patience = time.Second

// promptSlots supplies slots for tasks that are usually short. A task that takes longer than patience, such as a
// reconcile of an unreachable cluster, mostly waits. It then gives its slot to another task. So any number of
// unreachable clusters delays no other cluster. promptSlots implements worker.SlotSupplier.
type promptSlots struct {
	// counted limits the tasks that count for a slot. all limits all tasks, including those that no longer count.
	counted, all *semaphore.Weighted
	most         int
	patience     time.Duration
}

// slot is the user data of a permit.
type slot struct {
	// free releases the counted slot. Only the first call has an effect.
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

// TryReserveSlot returns nil if no slot is free.
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

// MarkSlotUsed is called when a task begins.
func (p *promptSlots) MarkSlotUsed(info worker.SlotMarkUsedInfo) {
	if s, ours := info.Permit().UserData.(*slot); ours {
		s.timer = time.AfterFunc(p.patience, s.free)
	}
}

// ReleaseSlot is called when a task has ended, or if there was none.
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

// MaxSlots returns the maximum number of tasks.
func (p *promptSlots) MaxSlots() int { return p.most }

// tuner returns a tuner with these slots for activities.
func (p *promptSlots) tuner() tuner {
	t := newTuner(0)
	t.activities = p
	return t
}

// taskSlots supplies slots for workflow tasks. A task that installs several modules takes one slot per module, so
// that a process begins no more installations than it can finish in time: an installation that takes too long for a
// workflow task moves to a queue and is repeated there. taskSlots implements worker.SlotSupplier and
// interceptor.WorkerInterceptor.
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

// TryReserveSlot returns nil if no slot is free.
func (t *taskSlots) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit {
	if !t.free.TryAcquire(1) {
		return nil
	}
	return &worker.SlotPermit{}
}

// MarkSlotUsed does nothing.
func (t *taskSlots) MarkSlotUsed(worker.SlotMarkUsedInfo) {}

// ReleaseSlot is called when a task has ended, or if there was none.
func (t *taskSlots) ReleaseSlot(worker.SlotReleaseInfo) { t.free.Release(1) }

// MaxSlots returns the maximum number of tasks.
func (t *taskSlots) MaxSlots() int { return t.most }

// take takes further slots for a running task. It does not wait for them: the task gets slots that become free while
// it runs. The returned function gives them back.
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
	// No task takes more than half of the slots, so that others get some too, however many modules a Kyma has.
	if further := min(modulesIn(in.Args), i.of.most/2) - 1; further > 0 && activity.GetInfo(ctx).IsLocalActivity {
		defer i.of.take(ctx, further)()
	}
	return i.Next.ExecuteActivity(ctx, in)
}

// modulesIn returns how many modules an activity with these arguments installs.
func modulesIn(args []any) int {
	for _, arg := range args {
		if modules, ok := arg.(install.ModulesInput); ok {
			return len(modules.Manifests)
		}
	}
	return 0
}

// tuner is the SDK's tuner with custom slots for workflow tasks and activities.
type tuner struct {
	worker.WorkerTuner
	tasks, activities worker.SlotSupplier
}

func newTuner(activities int) tuner {
	others, _ := worker.NewFixedSizeTuner(worker.FixedSizeTunerOptions{NumActivitySlots: activities}) // it only fails for negative numbers
	return tuner{WorkerTuner: others, tasks: others.GetWorkflowTaskSlotSupplier(), activities: others.GetActivityTaskSlotSupplier()}
}

// GetWorkflowTaskSlotSupplier implements worker.WorkerTuner.
func (t tuner) GetWorkflowTaskSlotSupplier() worker.SlotSupplier { return t.tasks }

// GetActivityTaskSlotSupplier implements worker.WorkerTuner.
func (t tuner) GetActivityTaskSlotSupplier() worker.SlotSupplier { return t.activities }
