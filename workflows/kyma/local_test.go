package kyma

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
)

// A successful reconcile costs one marker per step, and no task of a queue.
func TestAKymaIsReconciledWithinItsWorkflowTask(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	c := recorded(env)
	kickAt(env, time.Hour, kick.Kick{Reason: "Manifest is Ready", Kind: "Manifest", Name: "m"})
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Empty(t, c.activities)
	require.Len(t, c.locals["SyncRemote"], 2)
	require.Len(t, c.locals["ResolveKyma"], 1)
	require.Len(t, c.locals["ReportKyma"], 2)
	for name, options := range c.locals {
		for _, o := range options {
			require.LessOrEqual(t, o.ScheduleToCloseTimeout, 3*time.Second, name)
			require.Equal(t, int32(1), o.RetryPolicy.MaximumAttempts, "%s: further attempts must use the queue", name)
			require.NotEmpty(t, o.Summary, name)
		}
	}
}

func TestAStepThatIsNotDoneInTimeIsTakenFromTheQueue(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	c := recorded(env)
	c.late = true
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "resolve", "report", "sync"}, w.calls)
	for name, inputs := range map[string]int{"SyncRemote": 2 + 2, "ResolveKyma": 2, "ReportKyma": 2} {
		require.Len(t, c.inputs[name], inputs)
		require.Equal(t, c.inputs[name][inputs-2], c.inputs[name][inputs-1], "%s must be the same step", name)
	}
}

func TestTheLocalAttemptCountsAsAnAttempt(t *testing.T) {
	w := quietFixture()
	w.resolve = func(int) (resolve.Result, error) { return resolve.Result{}, errors.New("conflict") }
	env := environment(t, w)
	c := recorded(env)
	endKyma(env, w, 3*time.Minute)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.NotEmpty(t, c.activities["ResolveKyma"])
	require.Equal(t, attempts.RetryShortly().MaximumAttempts-1, c.activities["ResolveKyma"][0].RetryPolicy.MaximumAttempts)
}

// A workflow task never waits twice for a cluster that does not answer.
func TestAClusterThatDidNotAnswerIsNotAskedWithinAWorkflowTask(t *testing.T) {
	w := quietFixture()
	w.sync = func(n int) (syncing.Result, error) {
		if n == 2 || n == 3 {
			return syncing.Result{}, unreachable
		}
		return synced()
	}
	env := environment(t, w)
	c := recorded(env)
	kickAt(env, time.Hour, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
	kickAt(env, 20*time.Hour, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
	endKyma(env, w, 24*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, c.activities["SyncRemote"], 2, "one after the failed local attempt, and one that reaches the cluster again")
	require.Len(t, c.locals["SyncRemote"], 4, "the first, the one that fails, the one after the cluster answers again, and the one that finds the Kyma gone")
}
