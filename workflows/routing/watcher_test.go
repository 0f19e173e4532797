package routing

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
	"k8s.io/apimachinery/pkg/types"

	activities "github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

var ref = kick.Ref{Namespace: "kcp-system", Name: "kyma", UID: "watcher-uid"}

// reconciles holds the answers and inputs of the activity.
type reconciles struct {
	answer func(ctx context.Context, n int) error
	asked  []activities.In
}

// ReconcileWatcher answers as the test defines.
func (r *reconciles) ReconcileWatcher(ctx context.Context, in activities.In) (activities.Out, error) {
	r.asked = append(r.asked, in)
	if r.answer != nil {
		if err := r.answer(ctx, len(r.asked)); err != nil {
			return activities.Out{}, fault.ToTemporal(err)
		}
	}
	return activities.Out{Outcome: activities.OutcomeDone, State: shared.StateReady, Message: "routed"}, nil
}

func environment(t *testing.T, r *reconciles) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := workflowtest.Environment()
	env.RegisterWorkflowWithOptions(WatcherWorkflow, workflow.RegisterOptions{Name: kick.WatcherWorkflow})
	env.RegisterActivityWithOptions(r.ReconcileWatcher, activity.RegisterOptions{Name: "ReconcileWatcher"})
	return env
}

func kickAt(env *testsuite.TestWorkflowEnvironment, after time.Duration, k kick.Kick) {
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.Signal, k) }, after)
}

func TestAWatcherThatIsRoutedEndsItsWorkflow(t *testing.T) {
	r := &reconciles{}
	env := environment(t, r)
	env.ExecuteWorkflow(WatcherWorkflow, Input{Ref: ref})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []activities.In{{Ref: ref}}, r.asked)
	answer, err := env.QueryWorkflow(kick.QueryStatus)
	require.NoError(t, err)
	var shown view.View
	require.NoError(t, answer.Get(&shown))
	require.Equal(t, "Ready", shown.State)
	require.Equal(t, "routed", shown.Message)
}

// A reconcile may have missed a change that happened while it ran.
func TestAKickDuringAReconcileMeansOneMore(t *testing.T) {
	r := &reconciles{}
	env := environment(t, r)
	r.answer = func(_ context.Context, n int) error {
		if n == 1 {
			for range 5 {
				env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Gateway changed", Kind: activities.KindGateway, Namespace: "kcp-system", Name: "g", ResourceVersion: "7"})
			}
		}
		return nil
	}
	env.ExecuteWorkflow(WatcherWorkflow, Input{Ref: ref})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, r.asked, 2, "five kicks cause one more reconcile")
	require.Equal(t, []types.NamespacedName{{Namespace: "kcp-system", Name: "g"}}, r.asked[1].Gateways)
}

func TestAFailedReconcileIsRetriedUntilItSucceeds(t *testing.T) {
	r := &reconciles{answer: func(_ context.Context, n int) error {
		if n <= 12 {
			return errors.New("the API server is restarting")
		}
		return nil
	}}
	env := environment(t, r)
	env.ExecuteWorkflow(WatcherWorkflow, Input{Ref: ref})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, r.asked, 13)
}

func TestARejectedReconcileIsNotRetried(t *testing.T) {
	r := &reconciles{answer: func(context.Context, int) error {
		return fault.New(fault.Rejected, activities.EventRefused, "an admission webhook refuses it")
	}}
	env := environment(t, r)
	env.ExecuteWorkflow(WatcherWorkflow, Input{Ref: ref})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, r.asked, 1)
}

func TestAnUrgentKickDoesNotWaitForTheRetry(t *testing.T) {
	refused := fault.New(fault.Transient, activities.EventRefused, "no right")
	refused.SlowRetry = true
	r := &reconciles{answer: func(_ context.Context, n int) error {
		if n == 1 {
			return refused
		}
		return nil
	}}
	env := environment(t, r)
	began := env.Now()
	kickAt(env, time.Minute, kick.Kick{Reason: "Watcher changed", Urgent: true})
	env.ExecuteWorkflow(WatcherWorkflow, Input{Ref: ref})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, r.asked, 2)
	require.Less(t, env.Now().Sub(began), 5*time.Minute, "in the workflow's time, which skips waits")
}

func TestAForcedContinueAsNewKeepsTheStateOfAWaitingRun(t *testing.T) {
	refused := fault.New(fault.Transient, activities.EventRefused, "no right")
	refused.SlowRetry = true
	r := &reconciles{answer: func(context.Context, int) error { return refused }}
	env := environment(t, r)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.SignalContinueAsNew, nil) }, time.Minute)
	env.ExecuteWorkflow(WatcherWorkflow, Input{Ref: ref})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	var in Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	require.Equal(t, ref, in.Ref)
	require.Equal(t, 1, in.Carry.Attempt)
	require.False(t, in.Carry.RetryAt.IsZero())

	r.answer = nil
	env = environment(t, r)
	env.ExecuteWorkflow(WatcherWorkflow, in)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, r.asked, 2, "the next run waits for the retry")
}

func TestAnUpdateAnswersWithTheStateReached(t *testing.T) {
	r := &reconciles{answer: func(_ context.Context, n int) error {
		if n == 1 {
			return errors.New("once")
		}
		return nil
	}}
	env := environment(t, r)
	answered := false
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(kick.UpdateReconcile, "1", &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { require.NoError(t, err) },
			OnComplete: func(result any, err error) {
				require.NoError(t, err)
				require.Equal(t, Result{State: "Ready", Message: "routed", Completed: true}, result)
				answered = true
			},
		})
	}, time.Millisecond)
	env.ExecuteWorkflow(WatcherWorkflow, Input{Ref: ref})
	require.NoError(t, env.GetWorkflowError())
	require.True(t, answered)
}
