package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// waitingWorld is a Kyma whose first look asks for another at a moment.
func waitingWorld(at time.Time) *world {
	w := quietWorld()
	w.resolve = func(n int) (resolve.Result, error) {
		res, err := resolved()
		if n == 1 {
			res.NextLook, res.NextLookFor = at, "the maintenance window"
		}
		return res, err
	}
	return w
}

func TestALookThatAsksForAnotherGetsItByADurableTimer(t *testing.T) {
	env := environment(t, quietWorld())
	begins := env.Now().Add(72 * time.Hour)
	w := waitingWorld(begins)
	env = environment(t, w)
	env.SetStartTime(begins.Add(-72 * time.Hour))
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 1, w.counts["resolve"])
		require.Contains(t, viewOf(t, env).WaitingFor, "the maintenance window at ")
	}, 24*time.Hour)
	// A Manifest that changes meanwhile leads to a report, and the timer stays.
	kickAt(env, 25*time.Hour, kick.Kick{Reason: "Manifest changed", Kind: "Manifest"})
	env.RegisterDelayedCallback(func() { require.Equal(t, 1, w.counts["resolve"]) }, 71*time.Hour)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.counts["resolve"]) }, 72*time.Hour+time.Minute)
	endKyma(env, w, 100*time.Hour)
	env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

// The moment may pass while the cluster cannot be reached: then what failed is tried again as everything is.
func TestAMomentThatPassedWithoutALookIsNoReasonToLookAllTheTime(t *testing.T) {
	env := environment(t, quietWorld())
	start := env.Now()
	w := waitingWorld(start.Add(time.Hour))
	w.sync = func(n int) (syncing.Result, error) {
		if n == 1 {
			return synced()
		}
		return syncing.Result{}, fault.New(fault.Rejected, "KubeconfigRejected", "exec plugins are not allowed")
	}
	env = environment(t, w)
	env.SetStartTime(start)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.counts["sync"]) }, 24*time.Hour)
	endKyma(env, w, 25*time.Hour)
	env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestWaitingForAWindowKeepsNothingElseWaiting(t *testing.T) {
	env := environment(t, quietWorld())
	start := env.Now()
	w := waitingWorld(start.Add(72 * time.Hour))
	w.report = func(n int, _ status.ReportInput) (status.ReportResult, error) {
		res, err := reported(shared.StateReady)
		res.NeedsLook = n == 1
		return res, err
	}
	env = environment(t, w)
	env.SetStartTime(start)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.counts["resolve"]) }, time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestAPacedRemovalWaitsForItsTurn(t *testing.T) {
	env := environment(t, quietWorld())
	start := env.Now()
	w := quietWorld()
	w.resolve = func(n int) (resolve.Result, error) {
		res, err := resolved()
		if n == 1 {
			res.NextLook, res.NextLookFor, res.Paced = start.Add(10*time.Minute), "removals at a limited rate", true
		}
		return res, err
	}
	w.report = func(n int, _ status.ReportInput) (status.ReportResult, error) {
		res, err := reported(shared.StateError)
		res.NeedsLook = n == 1
		return res, err
	}
	env = environment(t, w)
	env.SetStartTime(start)
	env.RegisterDelayedCallback(func() { require.Equal(t, 1, w.counts["resolve"]) }, 9*time.Minute)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.counts["resolve"]) }, 11*time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}
