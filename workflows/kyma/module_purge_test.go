package kyma

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/entity"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

// purgeAt deletes the Kyma of a Manifest at once, and purges the Manifest at a given time.
func purgeAt(env *testsuite.TestWorkflowEnvironment, w *fixture, at time.Duration) {
	deleting := deletingFixture(1)
	w.sync, w.report, w.force, w.release = deleting.sync, deleting.report, deleting.force, deleting.release
	purged := w.purge
	gone := false
	w.purge = func(n int, in purge.Input) (purge.Result, error) {
		res, err := purged(n, in)
		gone = gone || res.Outcome == manifests.OutcomeRemoved
		return res, err
	}
	w.delete = func(int) (resolve.DeleteResult, error) {
		res := resolve.DeleteResult{Outcome: resolve.OutcomeDeleting}
		if !gone {
			res.Remaining, res.Manifests, res.Removing = []string{manifestRef.Name}, []kick.Ref{manifestRef}, []kick.Ref{manifestRef}
		}
		return res, nil
	}
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(kick.UpdatePurge, "purge", &updateAnswer{}) }, at)
}

// purging is a Manifest with a due purge.
func purging() ModuleCarry {
	return ModuleCarry{Carry: entity.Carry{Pending: mailbox.Pending{Count: 1, Urgent: true, Deleting: true, Purge: true}}}
}

// waitingRemoval returns a fixture in which a removal waits forever.
func waitingRemoval() *fixture {
	w := quietFixture()
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
	purgeAt(env, w, time.Hour+time.Minute)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.count("purge"))
	require.Equal(t, "purge", w.steps()[len(w.steps())-1])
	require.Equal(t, view.Forced{Count: 1, Names: []string{"Sample default"}}, workflowtest.ViewOf(t, env).Forced)
}

func TestAPurgeCancelsARunningStep(t *testing.T) {
	w := waitingRemoval()
	env := environment(t, w)
	w.removing = func(ctx context.Context, _ int) (uninstall.RemoveResult, error) {
		env.UpdateWorkflow(kick.UpdatePurge, "purge", &updateAnswer{})
		select {
		case <-ctx.Done():
			return uninstall.RemoveResult{}, ctx.Err()
		case <-time.After(10 * time.Second):
			return uninstall.RemoveResult{}, errors.New("was not canceled")
		}
	}
	purgeAt(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"remove", "purge"}, w.steps())
}

func TestAPurgeThatStartsTheWorkflowInstallsNothing(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	workFrom(env, w, purging())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"purge"}, w.steps())
}

func TestAPurgeAbandonsAfterTwoFailuresOfItsOwn(t *testing.T) {
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
	purgeAt(env, w, 5*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []bool{false, false, true}, abandoned)
	require.Less(t, env.Now().Sub(first), time.Minute)
}

func TestAPurgeOfAManifestThatStaysIsForgotten(t *testing.T) {
	w := quietFixture()
	w.purge = func(int, purge.Input) (purge.Result, error) {
		return purge.Result{Outcome: manifests.OutcomeApplied}, nil
	}
	env := environment(t, w)
	workFrom(env, w, purging())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.count("purge"))
	require.Equal(t, 1, w.count("apply"), "the Manifest is reconciled like any other")
}

func TestAPurgeThatMakesProgressContinuesAndNamesEverythingItForced(t *testing.T) {
	w := quietFixture()
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
	workFrom(env, w, purging())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 6, w.count("purge"))
	require.Equal(t, 6, workflowtest.ViewOf(t, env).Forced.Count)
	require.Contains(t, workflowtest.ViewOf(t, env).Forced.Names, "Sample last")
}

func TestAPurgeEndsEvenIfNewObjectsKeepAppearing(t *testing.T) {
	w := quietFixture()
	w.purge = func(_ int, in purge.Input) (purge.Result, error) {
		if in.Abandon {
			return purge.Result{Outcome: manifests.OutcomeRemoved, Unreached: "left there"}, nil
		}
		return purge.Result{Outcome: manifests.OutcomeWaiting, Forced: 1, Progress: true, Fault: fault.Fault{Kind: fault.Transient, Reason: "X", Message: "more"}}, nil
	}
	env := environment(t, w)
	workFrom(env, w, purging())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, purgeRounds+purgeAttempts+1, w.count("purge"))
}

func TestAPurgeWithoutFurtherProgressFails(t *testing.T) {
	w := quietFixture()
	var abandoned []bool
	w.purge = func(_ int, in purge.Input) (purge.Result, error) {
		abandoned = append(abandoned, in.Abandon)
		if in.Abandon {
			return purge.Result{Outcome: manifests.OutcomeRemoved}, nil
		}
		return purge.Result{Outcome: manifests.OutcomeWaiting, Forced: 1, Names: []string{"Sample a"}, Fault: fault.Fault{Kind: fault.Unreachable, Reason: "X", Message: "cut"}}, nil
	}
	env := environment(t, w)
	workFrom(env, w, purging())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []bool{false, false, true}, abandoned)
	require.Equal(t, 2, workflowtest.ViewOf(t, env).Forced.Count)
}
