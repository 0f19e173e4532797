package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// marked and released are the SDK's infos about a permit.
type marked struct {
	worker.SlotMarkUsedInfo
	permit *worker.SlotPermit
}

func (m marked) Permit() *worker.SlotPermit { return m.permit }

type released struct {
	worker.SlotReleaseInfo
	permit *worker.SlotPermit
}

func (r released) Permit() *worker.SlotPermit { return r.permit }

// start reserves a slot and begins a task. It returns nil if no slot is free.
func start(p *promptSlots) *worker.SlotPermit {
	permit := p.TryReserveSlot(nil)
	if permit != nil {
		p.MarkSlotUsed(marked{permit: permit})
	}
	return permit
}

func TestATaskThatTakesLongGivesItsSlotToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPromptSlots(2, 3)
		first, second := start(p), start(p)
		require.NotNil(t, first)
		require.NotNil(t, second)
		require.Nil(t, start(p), "there are two slots")
		p.ReleaseSlot(released{permit: second})

		time.Sleep(patience / 2)
		third := start(p)
		require.NotNil(t, third)
		time.Sleep(patience/2 + time.Millisecond)
		synctest.Wait()
		fourth := start(p)
		require.NotNil(t, fourth, "the first task takes long and no longer counts")
		require.Nil(t, start(p), "at most three in total")

		for _, permit := range []*worker.SlotPermit{first, third, fourth} {
			p.ReleaseSlot(released{permit: permit})
		}
		require.NotNil(t, start(p))
		require.NotNil(t, start(p))
		require.Nil(t, start(p), "a slot that was given away must not be freed twice")
	})
}

func TestReserveSlotWaitsUntilTheWorkerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPromptSlots(1, 5)
		// A slot reserved for a poll counts until its task takes long, or the poll returns without a task.
		reserved, err := p.ReserveSlot(t.Context(), nil)
		require.NoError(t, err)
		time.Sleep(2 * patience)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err = p.ReserveSlot(ctx, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		p.ReleaseSlot(released{permit: reserved})
		next, err := p.ReserveSlot(t.Context(), nil)
		require.NoError(t, err)
		require.NotNil(t, next)
		require.Equal(t, 5, p.MaxSlots())
	})
}

// Otherwise a process begins more installations than it can finish within a workflow task, and queues have to repeat
// them.
func TestATaskThatInstallsSeveralModulesTakesASlotForEach(t *testing.T) {
	slots := newTaskSlots(8)
	free := func() int {
		n := 0
		for slots.TryReserveSlot(nil) != nil {
			n++
		}
		for range n {
			slots.ReleaseSlot(nil)
		}
		return n
	}
	countedWith := func(modules int) (counted int) {
		permit, err := slots.ReserveSlot(t.Context(), nil)
		require.NoError(t, err)
		require.NotNil(t, permit)
		defer slots.ReleaseSlot(nil)
		step := func(context.Context, install.ModulesInput) error {
			require.Eventually(t, func() bool { counted = 8 - free(); return counted >= min(modules, 4) }, time.Minute, time.Millisecond)
			return nil
		}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{slots}})
		_, err = env.ExecuteLocalActivity(step, install.ModulesInput{Manifests: make([]kick.Ref, modules)})
		require.NoError(t, err)
		return counted
	}
	for modules, counts := range map[int]int{1: 1, 3: 3, 20: 4} { // at most half of the slots
		require.Equal(t, counts, countedWith(modules))
		require.Equal(t, 8, free())
	}

	// Slots of other tasks are not taken away, but no other task gets a new slot first.
	for range 7 {
		require.NotNil(t, slots.TryReserveSlot(nil))
	}
	done := slots.take(t.Context(), 2)
	require.Eventually(t, func() bool {
		if slots.TryReserveSlot(nil) == nil {
			return true
		}
		slots.ReleaseSlot(nil)
		return false
	}, time.Minute, time.Millisecond, "one is free, and is kept")
	done()
	require.Equal(t, 1, free())
}
