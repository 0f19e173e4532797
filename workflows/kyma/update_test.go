package kyma

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/pace"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

func TestTheReconcileUpdateAnswersWithTheKnownStateIfAReconcileTakesLong(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	answer := &updateAnswer{}
	env.RegisterDelayedCallback(func() {
		w.sync = func(int) (syncing.Result, error) {
			return syncing.Result{}, &fault.Error{Kind: fault.Transient, Reason: "Busy", Message: "busy", RetryAfter: 20 * time.Second}
		}
		env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer)
	}, time.Hour)
	env.RegisterDelayedCallback(func() { require.Zero(t, answer.result, "the reconcile continues") }, time.Hour+29*time.Second)
	env.RegisterDelayedCallback(func() {
		require.NoError(t, answer.err)
		require.Equal(t, ReconcileResult{State: "Ready", Message: "Ready", Completed: false}, answer.result)
	}, time.Hour+31*time.Second)
	endKyma(env, w, 3*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

// The caller wants to know the current state. A reconcile that began before the request does not show it.
func TestTheReconcileUpdateIsNotAnsweredByAReconcileThatBeganBefore(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	answer := &updateAnswer{}
	w.sync = func(n int) (syncing.Result, error) {
		if n == 2 {
			require.Zero(t, answer.result)
		}
		return synced()
	}
	w.resolve = func(n int) (resolve.Result, error) {
		if n == 1 {
			env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer)
		}
		return resolved()
	}
	env.RegisterDelayedCallback(func() {
		require.True(t, answer.result.Completed)
		require.Equal(t, 2, w.count("sync"))
	}, time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestTheReconcileUpdateDoesNotWaitForThePace(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	carry := &Carry{Reconciled: true}
	carry.Pace = pace.Pace{Wait: 30 * time.Second, Until: env.Now().Add(30 * time.Second)}
	answer := &updateAnswer{}
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer) }, 5*time.Second)
	env.RegisterDelayedCallback(func() { require.True(t, answer.result.Completed) }, 6*time.Second)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef, Carry: carry})
	require.NoError(t, env.GetWorkflowError())
}

// The caller sends the update again and reaches the next run.
func TestARunThatIsAboutToEndRefusesUpdatesAsRetryable(t *testing.T) {
	env := environment(t, quietFixture())
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		e := newRun(ctx, Input{Ref: kymaRef})
		if err := e.serve(ctx); err != nil {
			return err
		}
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return err
		}
		e.Ending = true
		return workflow.Sleep(ctx, time.Minute)
	}, workflow.RegisterOptions{Name: "about to end"})
	waits, late := &updateAnswer{}, &updateAnswer{}
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(kick.UpdateReconcile, "u1", waits) }, 50*time.Second)
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(kick.UpdateReconcile, "u2", late) }, 70*time.Second)
	env.ExecuteWorkflow("about to end")
	require.NoError(t, env.GetWorkflowError())
	for name, answer := range map[string]*updateAnswer{"that waits for a reconcile": waits, "that comes late": late} {
		var refused *temporal.ApplicationError
		require.ErrorAs(t, answer.err, &refused, name)
		require.Equal(t, "RunIsEnding", refused.Type(), name)
		require.False(t, refused.NonRetryable(), name)
	}
}

func TestTheStatusQuerySaysSinceWhenAndWhatWentWrong(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	start := env.Now()
	failed := time.Time{}
	env.RegisterDelayedCallback(func() {
		require.WithinDuration(t, start, workflowtest.ViewOf(t, env).Since, time.Second)
		w.resolve = func(int) (resolve.Result, error) {
			failed = env.Now()
			return resolve.Result{}, fault.New(fault.Rejected, "UnknownChannel", "no such channel")
		}
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
	}, time.Hour)
	env.RegisterDelayedCallback(func() {
		view := workflowtest.ViewOf(t, env)
		require.Equal(t, "waiting", view.Doing)
		require.Equal(t, "a change: UnknownChannel", view.WaitingFor)
		require.Equal(t, fault.Fault{Kind: fault.Rejected, Reason: "UnknownChannel", Message: "no such channel"}, view.LastFault)
		require.WithinDuration(t, failed, view.Since, time.Second)
		w.resolve = func(int) (resolve.Result, error) { return resolved() }
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
	}, 2*time.Hour)
	env.RegisterDelayedCallback(func() { require.Zero(t, workflowtest.ViewOf(t, env).LastFault) }, 3*time.Hour)
	endKyma(env, w, 4*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}
