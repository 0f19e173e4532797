package sweep

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

// sweeping runs the sweep of shard 32 until it continues as new. It returns the times of its walks and the input of
// the next run.
func sweeping(t *testing.T, in Input, walk func(n int) (sweep.WalkResult, error), prepare func(*testsuite.TestWorkflowEnvironment)) ([]time.Duration, Input) {
	t.Helper()
	env := workflowtest.Environment()
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: kick.SweepWorkflow})
	var walks []time.Duration
	started := env.Now()
	env.RegisterActivityWithOptions(func(ctx context.Context, _ sweep.WalkInput) (sweep.WalkResult, error) {
		require.Equal(t, "lifecycle-manager-sweep", activity.GetInfo(ctx).TaskQueue)
		walks = append(walks, env.Now().Sub(started))
		res, err := walk(len(walks))
		res.Started = env.Now()
		return res, fault.ToTemporal(err)
	}, activity.RegisterOptions{Name: "WalkShard"})
	if prepare != nil {
		prepare(env)
	}
	env.ExecuteWorkflow(Workflow, in)
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	var next Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	return walks, next
}

var shard32 = Input{Shard: 32, Shards: 64, Interval: 10 * time.Minute}

func everyTenMinutes(int) (sweep.WalkResult, error) {
	return sweep.WalkResult{Interval: 10 * time.Minute, Shards: 64}, nil
}

func TestASweepWalksOncePerIntervalInItsTurnAndContinuesAsNew(t *testing.T) {
	walks, next := sweeping(t, shard32, everyTenMinutes, nil)
	require.Len(t, walks, walksPerRun)
	for i, at := range walks {
		require.InDelta(t, 5+10*i, at.Minutes(), 0.1)
	}
	require.Equal(t, 32, next.Shard)
	require.Equal(t, 10*time.Minute, next.Interval)
}

func TestTheDetailsOfASweepSayWhatItIs(t *testing.T) {
	sweeping(t, shard32, func(int) (sweep.WalkResult, error) {
		return sweep.WalkResult{Interval: 10 * time.Minute, Shards: 64, Kymas: 20, Kicked: 3}, nil
	}, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			details := workflowtest.DetailsOf(t, env)
			require.Regexp(t, "^Sweep of Lifecycle Manager: .*\n\nWaiting since .* for the next walk at .*\\. Temporal shows", details)
			require.NotContains(t, details, "Last walk")
		}, time.Minute)
		env.RegisterDelayedCallback(func() {
			require.Contains(t, workflowtest.DetailsOf(t, env), "Last walk: 20 Kymas checked, 3 workflows kicked.")
		}, 6*time.Minute)
	})
}

func TestASweepEndsIfItsShardNoLongerExists(t *testing.T) {
	env := workflowtest.Environment()
	walks := 0
	env.RegisterActivityWithOptions(func(context.Context, sweep.WalkInput) (sweep.WalkResult, error) {
		walks++
		return sweep.WalkResult{Started: env.Now(), Interval: time.Minute, Shards: 8}, nil
	}, activity.RegisterOptions{Name: "WalkShard"})
	env.ExecuteWorkflow(Workflow, shard32)
	require.NoError(t, env.GetWorkflowError(), "the sweep completed and did not continue as new")
	require.Equal(t, 1, walks)
}

func TestASweepKeepsTheIntervalOfTheWorkersConfiguration(t *testing.T) {
	walks, next := sweeping(t, shard32, func(int) (sweep.WalkResult, error) {
		return sweep.WalkResult{Interval: time.Minute, Shards: 64}, nil
	}, nil)
	require.InDelta(t, time.Minute.Seconds(), (walks[2] - walks[1]).Seconds(), 1)
	require.Equal(t, time.Minute, next.Interval)
}

// There may be more unreachable clusters than one walk can probe.
func TestAWalkContinuesProbingWhereTheLastOneEndedEvenAcrossRuns(t *testing.T) {
	env := workflowtest.Environment()
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: kick.SweepWorkflow})
	var began []uint64
	const lastWhole = uint64(1)<<63 + 1 // not representable as float64
	env.RegisterActivityWithOptions(func(_ context.Context, in sweep.WalkInput) (sweep.WalkResult, error) {
		began = append(began, in.ProbeFrom)
		if len(began) == 2 {
			return sweep.WalkResult{}, fault.ToTemporal(fault.New(fault.Rejected, "Forbidden", "cannot be retried"))
		}
		return sweep.WalkResult{Started: env.Now(), Interval: time.Minute, Shards: 64, ProbeFrom: lastWhole}, nil
	}, activity.RegisterOptions{Name: "WalkShard"})
	env.ExecuteWorkflow(Workflow, shard32)
	require.Equal(t, []uint64{0, lastWhole, lastWhole}, began[:3])
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	var next Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.Equal(t, lastWhole, next.ProbeFrom)
}

// Each pass compares a part of the objects, chosen by the number of the pass. So the number must grow after failed
// passes and across runs.
func TestTheWalksOfASweepAreCounted(t *testing.T) {
	env := workflowtest.Environment()
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: kick.SweepWorkflow})
	var passes []int
	env.RegisterActivityWithOptions(func(_ context.Context, in sweep.WalkInput) (sweep.WalkResult, error) {
		passes = append(passes, in.Pass)
		if len(passes) == 2 {
			return sweep.WalkResult{}, fault.ToTemporal(fault.New(fault.Rejected, "Forbidden", "cannot be retried"))
		}
		return sweep.WalkResult{Started: env.Now(), Interval: time.Minute, Shards: 64}, nil
	}, activity.RegisterOptions{Name: "WalkShard"})
	env.ExecuteWorkflow(Workflow, Input{Shard: 32, Interval: time.Minute, Pass: 7})
	require.Len(t, passes, walksPerRun)
	for i, pass := range passes {
		require.Equal(t, 7+i, pass)
	}
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	var next Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.Equal(t, 7+walksPerRun, next.Pass)
}

func TestAWalkGetsTheStartTimeOfItsSweep(t *testing.T) {
	env := workflowtest.Environment()
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: kick.SweepWorkflow})
	began := env.Now()
	var reported []time.Time
	env.RegisterActivityWithOptions(func(_ context.Context, in sweep.WalkInput) (sweep.WalkResult, error) {
		reported = append(reported, in.RunStarted)
		return sweep.WalkResult{Started: env.Now(), Interval: time.Minute, Shards: 64}, nil
	}, activity.RegisterOptions{Name: "WalkShard"})
	env.ExecuteWorkflow(Workflow, shard32)
	require.Len(t, reported, walksPerRun)
	for _, each := range reported {
		require.WithinDuration(t, began, each, time.Second)
	}
}

func TestASweepContinuesAfterAFailedWalk(t *testing.T) {
	walks, _ := sweeping(t, shard32, func(n int) (sweep.WalkResult, error) {
		if n == 1 {
			return sweep.WalkResult{}, fault.New(fault.Rejected, "Forbidden", "cannot be retried")
		}
		if n < 4 {
			return sweep.WalkResult{}, errors.New("visibility is down")
		}
		return everyTenMinutes(n)
	}, nil)
	require.Greater(t, len(walks), walksPerRun)
	require.GreaterOrEqual(t, walks[1]-walks[0], 10*time.Minute, "no hot loop after a failed walk")
}

func TestAKickedSweepWalksAtOnceEvenIfItContinuesAsNewFirst(t *testing.T) {
	walks, _ := sweeping(t, shard32, everyTenMinutes, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "now"}) }, 6*time.Minute)
	})
	require.InDelta(t, 6, walks[1].Minutes(), 0.1)

	var env *testsuite.TestWorkflowEnvironment
	var asked time.Time
	walks, next := sweeping(t, shard32, func(n int) (sweep.WalkResult, error) {
		asked = env.Now()
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "now"})
		env.SignalWorkflow(kick.SignalContinueAsNew, nil)
		return everyTenMinutes(n)
	}, func(e *testsuite.TestWorkflowEnvironment) { env = e })
	require.Len(t, walks, 1)
	require.False(t, next.NextWalk.After(asked.Add(time.Second)), "the run carries the kick")
}

func TestASweepThatWakesUnderANewBuildContinuesAsNewBeforeItWalks(t *testing.T) {
	env := workflowtest.Environment()
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, in Input) error {
		s := &run{in: in, mail: mailbox.New(ctx, mailbox.Pending{}, mailbox.Pending{}), build: "earlier"}
		return s.run(ctx)
	}, workflow.RegisterOptions{Name: "Sweep of an earlier build"})
	// A walk would fail, because no activity is registered.
	env.ExecuteWorkflow("Sweep of an earlier build", shard32)
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.Equal(t, kick.SweepWorkflow, again.WorkflowType.Name)
}
