package rollout

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

var ref = kick.Ref{Namespace: "kcp-system", Name: "sample-regular-1.1.0", UID: "rollout-uid"}

// steps holds the answers of the activity and the times of its calls.
type steps struct {
	env    *testsuite.TestWorkflowEnvironment
	answer func(ctx context.Context, n int, now time.Time) (advance.Out, error)
	at     []time.Time
}

// AdvanceRollout answers as the test defines.
func (s *steps) AdvanceRollout(ctx context.Context, in advance.In) (advance.Out, error) {
	if in.Ref != ref {
		return advance.Out{}, errors.New("another rollout")
	}
	s.at = append(s.at, s.env.Now())
	out, err := s.answer(ctx, len(s.at), s.env.Now())
	if err != nil {
		return out, fault.ToTemporal(err)
	}
	return out, nil
}

func environment(t *testing.T, answer func(ctx context.Context, n int, now time.Time) (advance.Out, error)) *steps {
	t.Helper()
	env := workflowtest.Environment()
	s := &steps{env: env, answer: answer}
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: kick.RolloutWorkflow})
	env.RegisterActivityWithOptions(s.AdvanceRollout, activity.RegisterOptions{Name: "AdvanceRollout"})
	return s
}

func (s *steps) kickAt(after time.Duration, k kick.Kick) {
	s.env.RegisterDelayedCallback(func() { s.env.SignalWorkflow(kick.Signal, k) }, after)
}

func ended() advance.Out { return advance.Out{Ended: true, Phase: "Completed", Progress: "7/7"} }

func TestARolloutThatHasEndedEndsItsWorkflow(t *testing.T) {
	s := environment(t, func(context.Context, int, time.Time) (advance.Out, error) { return ended(), nil })
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	require.True(t, s.env.IsWorkflowCompleted())
	require.NoError(t, s.env.GetWorkflowError())
	require.Len(t, s.at, 1)
	answer, err := s.env.QueryWorkflow(kick.QueryStatus)
	require.NoError(t, err)
	var shown view.View
	require.NoError(t, answer.Get(&shown))
	require.Equal(t, "Completed", shown.State)
	require.Equal(t, "7/7", shown.Message)
}

// A soak of two weeks is one timer, however long it is.
func TestTwoWeeksOfSoakAreOneSleep(t *testing.T) {
	const soak = 14 * 24 * time.Hour
	s := environment(t, func(_ context.Context, n int, now time.Time) (advance.Out, error) {
		if n == 1 {
			return advance.Out{Phase: "Soaking", WaitsFor: "the clusters of stage canary to stay well for 336h0m0s", Until: now.Add(soak)}, nil
		}
		return ended(), nil
	})
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	require.NoError(t, s.env.GetWorkflowError())
	require.Len(t, s.at, 2)
	require.InDelta(t, soak.Seconds(), s.at[1].Sub(s.at[0]).Seconds(), 1)
}

func TestARolloutThatWaitsForPeopleIsWokenByThem(t *testing.T) {
	s := environment(t, func(_ context.Context, n int, _ time.Time) (advance.Out, error) {
		if n == 1 {
			return advance.Out{Phase: "AwaitingApproval", WaitsFor: "the approval of stage half by one more person, before it"}, nil
		}
		return ended(), nil
	})
	s.kickAt(72*time.Hour, kick.Kick{Reason: "ModuleRollout changed", Kind: shared.KindModuleRollout})
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	require.NoError(t, s.env.GetWorkflowError())
	require.Len(t, s.at, 2)
	require.InDelta(t, (72 * time.Hour).Seconds(), s.at[1].Sub(s.at[0]).Seconds(), 2)
}

// A step may have missed a change that happened while it ran. Five kicks cause one more step.
func TestKicksDuringAStepMeanOneMore(t *testing.T) {
	var s *steps
	s = environment(t, func(_ context.Context, n int, _ time.Time) (advance.Out, error) {
		if n == 1 {
			for range 5 {
				s.env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "clusters changed"})
			}
		}
		return ended(), nil
	})
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	require.NoError(t, s.env.GetWorkflowError())
	require.Len(t, s.at, 2)
}

// Two steps are at least a second apart, whatever the clusters do.
func TestStepsAreSpaced(t *testing.T) {
	s := environment(t, func(_ context.Context, n int, now time.Time) (advance.Out, error) {
		if n < 4 {
			return advance.Out{Phase: "Progressing", Until: now.Add(time.Hour)}, nil
		}
		return ended(), nil
	})
	for i := range 30 {
		s.kickAt(time.Duration(i)*100*time.Millisecond, kick.Kick{Reason: "a cluster settled"})
	}
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	require.NoError(t, s.env.GetWorkflowError())
	require.Len(t, s.at, 4)
	for i := range 3 {
		require.GreaterOrEqual(t, s.at[i+1].Sub(s.at[i]), minWait)
		require.Less(t, s.at[i+1].Sub(s.at[i]), 2*minWait)
	}
}

func TestAFailedStepIsRetried(t *testing.T) {
	s := environment(t, func(_ context.Context, n int, _ time.Time) (advance.Out, error) {
		switch {
		case n <= 12:
			return advance.Out{}, errors.New("the API server is restarting")
		case n == 13:
			return advance.Out{}, fault.New(fault.Rejected, "Forbidden", "the right is missing")
		}
		return ended(), nil
	})
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	require.NoError(t, s.env.GetWorkflowError())
	require.Len(t, s.at, 14, "a rejected step is retried too: a rollout must never get stuck")
}

func TestARolloutThatIsGoneEndsItsWorkflow(t *testing.T) {
	s := environment(t, func(_ context.Context, n int, _ time.Time) (advance.Out, error) {
		if n == 1 {
			return advance.Out{Phase: "Held", WaitsFor: "somebody"}, nil
		}
		return advance.Out{Gone: true}, nil
	})
	s.kickAt(time.Hour, kick.Kick{Reason: "ModuleRollout is gone", Gone: true, Urgent: true})
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	require.NoError(t, s.env.GetWorkflowError())
	require.Len(t, s.at, 2)
}

func TestTheUpdateAnswersWithWhatTheNextStepFound(t *testing.T) {
	s := environment(t, func(_ context.Context, n int, _ time.Time) (advance.Out, error) {
		if n == 2 {
			return advance.Out{Phase: "Held", Progress: "1/7", WaitsFor: "somebody"}, nil
		}
		if n == 3 {
			return ended(), nil
		}
		return advance.Out{Phase: "Progressing", Progress: "0/7"}, nil
	})
	var result Result
	s.env.RegisterDelayedCallback(func() {
		s.env.UpdateWorkflow(kick.UpdateEvaluate, "", &testsuite.TestUpdateCallback{
			OnReject: func(err error) { require.NoError(t, err) },
			OnAccept: func() {},
			OnComplete: func(answer any, err error) {
				require.NoError(t, err)
				result, _ = answer.(Result)
			},
		})
	}, time.Hour)
	s.kickAt(2*time.Hour, kick.Kick{Reason: "r"})
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	require.NoError(t, s.env.GetWorkflowError())
	require.Equal(t, Result{Phase: "Held", Progress: "1/7", WaitsFor: "somebody", Completed: true}, result)
}

func TestAnOperatorMayForceARolloutToContinueAsNew(t *testing.T) {
	s := environment(t, func(_ context.Context, _ int, now time.Time) (advance.Out, error) {
		return advance.Out{Phase: "Soaking", Until: now.Add(24 * time.Hour)}, nil
	})
	s.env.RegisterDelayedCallback(func() { s.env.SignalWorkflow(kick.SignalContinueAsNew, nil) }, time.Hour)
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, s.env.GetWorkflowError(), &next)
	require.Len(t, s.at, 1)
}

// The next run does nothing at once. It continues the wait of the previous run.
func TestTheNextRunKeepsWaiting(t *testing.T) {
	s := environment(t, func(context.Context, int, time.Time) (advance.Out, error) { return ended(), nil })
	began := s.env.Now()
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref, Carry: &Carry{
		StepAt: began.Add(24 * time.Hour), Last: advance.Out{Phase: "Soaking"},
	}})
	require.NoError(t, s.env.GetWorkflowError())
	require.Len(t, s.at, 1)
	require.InDelta(t, (24 * time.Hour).Seconds(), s.at[0].Sub(began).Seconds(), 1)
}

// If the version of a completed rollout is promoted after a week, the workflow sleeps once more and then completes.
func TestACompletedRolloutWaitsAWeekUntilItsVersionIsPromoted(t *testing.T) {
	const well = 7 * 24 * time.Hour
	s := environment(t, func(_ context.Context, n int, now time.Time) (advance.Out, error) {
		if n == 1 {
			return advance.Out{Phase: "Completed", Progress: "7/7", WaitsFor: "the clusters to stay well for 168h0m0s", Until: now.Add(well)}, nil
		}
		return ended(), nil
	})
	var shown view.View
	s.env.RegisterDelayedCallback(func() {
		answer, err := s.env.QueryWorkflow(kick.QueryStatus)
		require.NoError(t, err)
		require.NoError(t, answer.Get(&shown))
	}, 3*24*time.Hour)
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	require.NoError(t, s.env.GetWorkflowError())
	require.Len(t, s.at, 2)
	require.InDelta(t, well.Seconds(), s.at[1].Sub(s.at[0]).Seconds(), 1)
	require.Equal(t, "Completed", shown.State)
	require.Equal(t, "7/7, waits for the clusters to stay well for 168h0m0s", shown.Message)
}

// A wait for the next channel or for approval has no deadline. A kick ends it.
func TestAPromotionThatWaitsForItsChannelIsWokenByIt(t *testing.T) {
	s := environment(t, func(_ context.Context, n int, _ time.Time) (advance.Out, error) {
		if n == 1 {
			return advance.Out{Phase: "Completed", WaitsFor: "the rollout of version 1.0.9 to channel regular to end"}, nil
		}
		return ended(), nil
	})
	s.kickAt(72*time.Hour, kick.Kick{Reason: "ModuleRollout changed", Kind: shared.KindModuleRollout})
	s.env.ExecuteWorkflow(Workflow, Input{Ref: ref})
	require.NoError(t, s.env.GetWorkflowError())
	require.Len(t, s.at, 2)
}
