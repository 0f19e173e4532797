package kyma

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

// waitingFixture returns a Kyma whose first reconcile asks for another one at a given time.
func waitingFixture(at time.Time) *fixture {
	w := quietFixture()
	w.resolve = func(n int) (resolve.Result, error) {
		res, err := resolved()
		if n == 1 {
			res.NextReconcile, res.NextReconcileFor = at, "the maintenance window"
		}
		return res, err
	}
	return w
}

func TestAReconcileThatAsksForAnotherGetsItByADurableTimer(t *testing.T) {
	env := environment(t, quietFixture())
	begins := env.Now().Add(72 * time.Hour)
	w := waitingFixture(begins)
	env = environment(t, w)
	c := recorded(env)
	env.SetStartTime(begins.Add(-72 * time.Hour))
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 1, w.count("resolve"))
		require.Contains(t, workflowtest.ViewOf(t, env).WaitingFor, "the maintenance window at ")
	}, 24*time.Hour)
	// If a Manifest changes during the wait, the run writes a report and keeps the timer.
	kickAt(env, 25*time.Hour, kick.Kick{Reason: "Manifest changed", Kind: "Manifest"})
	env.RegisterDelayedCallback(func() { require.Equal(t, 1, w.count("resolve")) }, 71*time.Hour)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("resolve")) }, 72*time.Hour+time.Minute)
	endKyma(env, w, 100*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, c.activities["ReconcileInBackground"], 1, "a window starts for many Kymas, so edits come first")
}

// The time may pass while the cluster is unreachable. The failed reconcile is then retried with the usual backoff.
func TestAMissedNextReconcileCausesNoHotLoop(t *testing.T) {
	env := environment(t, quietFixture())
	start := env.Now()
	w := waitingFixture(start.Add(time.Hour))
	w.sync = func(n int) (syncing.Result, error) {
		if n == 1 {
			return synced()
		}
		return syncing.Result{}, fault.New(fault.Rejected, "KubeconfigRejected", "exec plugins are not allowed")
	}
	env = environment(t, w)
	env.SetStartTime(start)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("sync")) }, 24*time.Hour)
	endKyma(env, w, 25*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestWaitingForAWindowDelaysNothingElse(t *testing.T) {
	env := environment(t, quietFixture())
	start := env.Now()
	w := waitingFixture(start.Add(72 * time.Hour))
	w.report = func(n int, _ status.ReportInput) (status.ReportResult, error) {
		res, err := reported(shared.StateReady)
		res.NeedsReconcile = n == 1
		return res, err
	}
	env = environment(t, w)
	env.SetStartTime(start)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("resolve")) }, time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestAPacedRemovalWaitsForItsTurn(t *testing.T) {
	env := environment(t, quietFixture())
	start := env.Now()
	w := quietFixture()
	w.resolve = func(n int) (resolve.Result, error) {
		res, err := resolved()
		if n == 1 {
			res.NextReconcile, res.NextReconcileFor, res.Paced = start.Add(10*time.Minute), "removals at a limited rate", true
		}
		return res, err
	}
	w.report = func(n int, _ status.ReportInput) (status.ReportResult, error) {
		res, err := reported(shared.StateError)
		res.NeedsReconcile = n == 1
		return res, err
	}
	env = environment(t, w)
	env.SetStartTime(start)
	env.RegisterDelayedCallback(func() { require.Equal(t, 1, w.count("resolve")) }, 9*time.Minute)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("resolve")) }, 11*time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

// Many Kymas may be asked to reconcile at the same time. They must not all wake in the same second.
func TestKymasThatWaitForTheSameTimeWakeOneAfterTheOther(t *testing.T) {
	const kymas = 60
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	begins := start.Add(time.Hour)
	seconds := map[int]int{}
	for i := range kymas {
		w := waitingFixture(begins)
		env := environment(t, w)
		ref := kick.Ref{Namespace: "kcp-system", Name: fmt.Sprintf("kyma-%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i))}
		env.SetStartTime(start)
		env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: kick.KymaWorkflowID(ref)})
		env.SetOnTimerScheduledListener(func(_ string, wait time.Duration) {
			wakes := env.Now().Add(wait).Sub(begins)
			require.GreaterOrEqual(t, wakes, time.Duration(0))
			require.Less(t, wakes, nextReconcileSpread)
			seconds[int(wakes/time.Second)]++
			endKyma(env, w, 0)
		})
		env.ExecuteWorkflow(Workflow, Input{Ref: ref})
		require.NoError(t, env.GetWorkflowError())
	}
	for second, wake := range seconds {
		require.LessOrEqual(t, wake, kymas/6, "in second %d", second)
	}
	require.Greater(t, len(seconds), 15)
}
