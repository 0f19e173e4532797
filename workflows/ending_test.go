package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
)

func TestAPacedKickDuringTheLastStepMeansOneMoreLookWhenItsTimeHasCome(t *testing.T) {
	w := quietWorld()
	env := environment(t, w)
	w.write = func(n int, _ install.ReportInput) (install.ReportResult, error) {
		if n == 1 {
			env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "the module changed its state", Kind: "Manifest"})
		}
		return install.ReportResult{Outcome: install.OutcomeApplied}, nil
	}
	started := env.Now()
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.counts["apply"])
	require.GreaterOrEqual(t, env.Now().Sub(started), minPace, "the pace is kept, whatever the run waits for")
}

func TestAPacedKickAfterTheKymaWasFoundGoneIsWaitedForAndThenTheRunEnds(t *testing.T) {
	w := quietWorld()
	env := environment(t, w)
	w.sync = func(n int) (syncing.Result, error) {
		if n == 1 {
			env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "the resource was not found"})
		}
		return syncing.Result{Outcome: syncing.OutcomeGone}, nil
	}
	env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "sync"}, w.calls)
}

func TestAKickWithATurnOfItsOwnKeepsASettledRunOpenUntilThen(t *testing.T) {
	w := quietWorld()
	env := environment(t, w)
	turn := env.Now().Add(time.Hour)
	w.write = func(n int, _ install.ReportInput) (install.ReportResult, error) {
		if n == 1 {
			env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "later", NotBefore: &turn})
		}
		return install.ReportResult{Outcome: install.OutcomeApplied}, nil
	}
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.counts["apply"])
	require.False(t, env.Now().Before(turn))
}
