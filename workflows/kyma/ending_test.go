package kyma

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

func TestAPacedKickDuringTheLastStepMeansOneMoreReconcileWhenItsTimeHasCome(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	w.write = func(n int, _ manifests.ReportInput) (manifests.ReportResult, error) {
		if n == 1 {
			kickModule(env, kick.Kick{Reason: "the module changed its state"})
		}
		return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
	}
	started := env.Now()
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.count("apply"))
	require.GreaterOrEqual(t, env.Now().Sub(started), time.Second, "the run keeps the pace, whatever it waits for")
}

func TestAPacedKickAfterTheKymaWasFoundGoneIsWaitedForAndThenTheRunEnds(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	w.sync = func(n int) (syncing.Result, error) {
		if n == 1 {
			env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "the resource was not found"})
		}
		return syncing.Result{Outcome: syncing.OutcomeGone}, nil
	}
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "sync"}, w.calls)
}

func TestAPacedKickKeepsASettledRunOpenUntilItsTurn(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	turn := env.Now().Add(time.Hour)
	w.write = func(n int, _ manifests.ReportInput) (manifests.ReportResult, error) {
		if n == 1 {
			kickModule(env, kick.Kick{Reason: "later", NotBefore: &turn})
		}
		return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
	}
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.count("apply"))
	require.False(t, env.Now().Before(turn))
}

func TestAnUpdateGetsExactlyOneReconcileFromARunThatIsAskedToContinueAsNew(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	answer := &updateAnswer{}
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(kick.SignalContinueAsNew, nil)
		env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer)
	}, time.Hour)
	w.resolve = func(n int) (resolve.Result, error) {
		if n == 2 {
			env.SignalWorkflow(kick.SignalContinueAsNew, nil)
		}
		return resolved()
	}
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(kick.UpdateReconcile, "u2", answer) }, 30*time.Minute)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	continued(t, env.GetWorkflowError())
	require.NoError(t, answer.err)
	require.True(t, answer.result.Completed)
	require.Equal(t, 2, w.count("sync"), "the first reconcile and the requested one")
}

func TestAnUpdateToAFollowedModuleDoesNotKeepItFromContinuingAsNew(t *testing.T) {
	w := quietFixture()
	w.wait = func(int, install.Followed) (readiness.Observed, error) {
		return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: 30 * time.Second}
	}
	env := environment(t, w)
	answer := &updateAnswer{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer)
		env.SignalWorkflow(kick.SignalContinueAsNew, nil)
	}, 10*time.Minute)
	workOnModule(env, w)
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.NoError(t, answer.err)
	require.True(t, answer.result.Completed)
	require.Equal(t, 1, w.count("apply"), "only the Kyma is reconciled")
}
