package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

func purgeAt(env *testsuite.TestWorkflowEnvironment, at time.Duration) {
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.SignalPurge, kick.Kick{Reason: "the grace period is over"}) }, at)
}

// waitingRemoval is a world in which a removal waits for ever.
func waitingRemoval() *world {
	w := quietWorld()
	w.apply = func(context.Context, int) (install.ApplyResult, error) {
		return install.ApplyResult{Outcome: manifests.OutcomeDeleting}, nil
	}
	w.remove = func(int) (uninstall.RemoveResult, error) {
		return uninstall.RemoveResult{Outcome: manifests.OutcomeWaiting, Observed: readiness.Observed{State: shared.StateDeleting, Message: "held"}}, nil
	}
	w.waitGone = func(int) (uninstall.RemoveResult, error) {
		return uninstall.RemoveResult{}, &fault.Error{Kind: fault.Pending, Message: "held", RetryAfter: 30 * time.Second}
	}
	return w
}

func TestAPurgeEndsAWaitForARemoval(t *testing.T) {
	w := waitingRemoval()
	env := environment(t, w)
	purgeAt(env, time.Hour+time.Minute)
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.counts["purge"])
	require.Equal(t, "purge", w.calls[len(w.calls)-1])
	require.Equal(t, "purged: 1 object was forced: Sample default", viewOf(t, env).Message)
	require.Equal(t, view.Forced{Count: 1, Names: []string{"Sample default"}}, viewOf(t, env).Forced)
}

func TestAPurgeCancelsARunningStep(t *testing.T) {
	w := waitingRemoval()
	env := environment(t, w)
	w.removing = func(ctx context.Context, _ int) (uninstall.RemoveResult, error) {
		env.SignalWorkflow(kick.SignalPurge, kick.Kick{Reason: "the grace period is over"})
		select {
		case <-ctx.Done():
			return uninstall.RemoveResult{}, ctx.Err()
		case <-time.After(10 * time.Second):
			return uninstall.RemoveResult{}, errors.New("was not cancelled")
		}
	}
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"apply", "remove", "purge"}, w.calls)
}

func TestAPurgeThatStartsTheWorkflowInstallsNothing(t *testing.T) {
	w := quietWorld()
	env := environment(t, w)
	purgeAt(env, 0)
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"purge"}, w.calls)
}

func TestAPurgeAbandonsAfterTwoFailuresHoweverOftenOtherStepsFailed(t *testing.T) {
	w := waitingRemoval()
	w.remove = func(int) (uninstall.RemoveResult, error) {
		return uninstall.RemoveResult{}, fault.New(fault.Transient, "X", "fails")
	}
	var abandoned []bool
	var first time.Time
	env := environment(t, w)
	w.purge = func(_ int, in purge.Input) (purge.Result, error) {
		if abandoned = append(abandoned, in.Abandon); first.IsZero() {
			first = env.Now()
		}
		if in.Abandon {
			return purge.Result{Outcome: manifests.OutcomeRemoved, Unreached: "left there"}, nil
		}
		return purge.Result{}, fault.New(fault.Rejected, "KubeconfigRejected", "refused")
	}
	purgeAt(env, 5*time.Hour)
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []bool{false, false, true}, abandoned)
	require.Less(t, env.Now().Sub(first), 30*time.Second)
}

func TestAPurgeSignalInTheCompletingTaskIsNotLost(t *testing.T) {
	w := quietWorld()
	env := environment(t, w)
	w.write = func(n int, _ manifests.ReportInput) (manifests.ReportResult, error) {
		if n == 1 {
			env.SignalWorkflow(kick.SignalPurge, kick.Kick{Reason: "the grace period is over"})
		}
		return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
	}
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.counts["purge"])
}

func TestAPurgeOfAManifestThatStaysIsForgotten(t *testing.T) {
	w := quietWorld()
	w.purge = func(int, purge.Input) (purge.Result, error) {
		return purge.Result{Outcome: manifests.OutcomeApplied}, nil
	}
	env := environment(t, w)
	purgeAt(env, 0)
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.counts["purge"])
	require.Equal(t, 1, w.counts["apply"], "it is reconciled like any other")
}

func TestAPurgeThatComesOnGoesOnAndNamesEverythingItForced(t *testing.T) {
	w := quietWorld()
	w.purge = func(n int, in purge.Input) (purge.Result, error) {
		require.False(t, in.Abandon, "nothing failed")
		if n < 6 {
			return purge.Result{
				Outcome: manifests.OutcomeWaiting, Forced: 1, Names: []string{"Sample " + string(rune('a'+n))}, Progress: true,
				Fault: fault.Fault{Kind: fault.Transient, Reason: purge.ReasonPurgeContinues, Message: "more"},
			}, nil
		}
		return purge.Result{Outcome: manifests.OutcomeRemoved, Forced: 1, Names: []string{"Sample last"}}, nil
	}
	env := environment(t, w)
	purgeAt(env, 0)
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 6, w.counts["purge"])
	require.Equal(t, 6, viewOf(t, env).Forced.Count)
	require.Contains(t, viewOf(t, env).Forced.Names, "Sample last")
	require.Contains(t, viewOf(t, env).Message, "6 objects were forced")
}

func TestAPurgeEndsThoughSomebodyMakesNewObjectsAsFastAsTheyArePurged(t *testing.T) {
	w := quietWorld()
	w.purge = func(_ int, in purge.Input) (purge.Result, error) {
		if in.Abandon {
			return purge.Result{Outcome: manifests.OutcomeRemoved, Unreached: "left there"}, nil
		}
		return purge.Result{Outcome: manifests.OutcomeWaiting, Forced: 1, Progress: true, Fault: fault.Fault{Kind: fault.Transient, Reason: "X", Message: "more"}}, nil
	}
	env := environment(t, w)
	purgeAt(env, 0)
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, purgeRounds+purgeAttempts+1, w.counts["purge"])
}

func TestAPurgeThatForcedSomethingAndCameToAStopHasFailed(t *testing.T) {
	w := quietWorld()
	var abandoned []bool
	w.purge = func(_ int, in purge.Input) (purge.Result, error) {
		abandoned = append(abandoned, in.Abandon)
		if in.Abandon {
			return purge.Result{Outcome: manifests.OutcomeRemoved}, nil
		}
		return purge.Result{Outcome: manifests.OutcomeWaiting, Forced: 1, Names: []string{"Sample a"}, Fault: fault.Fault{Kind: fault.Unreachable, Reason: "X", Message: "cut"}}, nil
	}
	env := environment(t, w)
	purgeAt(env, 0)
	env.ExecuteWorkflow(ManifestWorkflow, ManifestInput{Ref: manifestRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []bool{false, false, true}, abandoned)
	require.Equal(t, 2, viewOf(t, env).Forced.Count)
}
