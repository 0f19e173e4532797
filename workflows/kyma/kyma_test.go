package kyma

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

var wholeReconcile = []string{"sync", "resolve", "report"}

func TestAKymaIsReconciledOnceAndThenSleeps(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, wholeReconcile, w.calls)
		view := workflowtest.ViewOf(t, env)
		require.Equal(t, "waiting", view.Doing)
		require.Equal(t, "a change", view.WaitingFor)
		require.Equal(t, "Ready", view.State)
	}, 24*time.Hour)
	endKyma(env, w, 25*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestAChangedManifestLeadsToOneReportAndNothingElse(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	kickAt(env, time.Minute, kick.Kick{Reason: "Manifest state", Kind: "Manifest", Name: "m"})
	env.RegisterDelayedCallback(func() {
		require.Equal(t, append(wholeReconcile[:3:3], "report"), w.calls)
	}, 2*time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

// A Kyma that is created, edited and deleted within seconds still shows the states of its modules at once.
func TestUrgentReconcilesDoNotDelayTheNewsThatFollow(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	for i := range 5 {
		kickAt(env, time.Minute+time.Duration(i)*100*time.Millisecond, kick.Kick{Reason: "Kyma changed", Urgent: true})
	}
	kickAt(env, time.Minute+time.Second, kick.Kick{Reason: "Manifest is Processing", Kind: "Manifest", Name: "m"})
	env.RegisterDelayedCallback(func() { require.Equal(t, 1+5+1, w.count("report"), "%v", w.calls) }, time.Minute+5*time.Second)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.GreaterOrEqual(t, w.count("report"), 1+5+1)
}

func TestAHundredKicksWhileAStepRunsCauseOneMoreReconcile(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	w.sync = func(n int) (syncing.Result, error) {
		if n == 1 {
			for range 100 {
				env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate", Name: "t"})
			}
		}
		return synced()
	}
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("sync")) }, time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestAReconcileThatCouldNotReadTheRemoteKymaWritesNoManifest(t *testing.T) {
	w := quietFixture()
	var seen status.ReportInput
	w.sync = func(int) (syncing.Result, error) {
		return syncing.Result{}, fault.New(fault.Unreachable, "UnreachableTimeout", "timed out")
	}
	w.report = func(_ int, in status.ReportInput) (status.ReportResult, error) {
		seen = in
		return reported(shared.StateError)
	}
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		require.Zero(t, w.count("resolve"))
		require.Equal(t, "UnreachableTimeout", seen.Faults[fault.PartSync].Reason)
		require.False(t, seen.Push, "no step writes to a cluster that was just unreachable")
	}, time.Second)
	endKyma(env, w, 24*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestAnUnreachableClusterIsTriedForMinutesThenLeftToTheSweep(t *testing.T) {
	w := quietFixture()
	w.sync = func(int) (syncing.Result, error) {
		return syncing.Result{}, fault.New(fault.Unreachable, "UnreachableTimeout", "timed out")
	}
	w.report = func(int, status.ReportInput) (status.ReportResult, error) { return reported(shared.StateError) }
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 1+unreachableAttempts+1, w.count("sync"), "plus the local attempt, whose timeout may have been too short")
	}, 29*24*time.Hour)
	env.RegisterDelayedCallback(func() {
		w.sync = func(int) (syncing.Result, error) { return synced() }
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "the remote cluster can be reached again"})
	}, 30*24*time.Hour)
	env.RegisterDelayedCallback(func() { require.Equal(t, 1, w.count("resolve")) }, 30*24*time.Hour+time.Minute)
	endKyma(env, w, 31*24*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestARefusalWaitsForAChangeAndRecordsItsInputs(t *testing.T) {
	w := quietFixture()
	var seen status.ReportInput
	w.sync = func(int) (syncing.Result, error) {
		return syncing.Result{}, fault.New(fault.Rejected, "KubeconfigRejected", "exec plugins are not allowed")
	}
	w.report = func(_ int, in status.ReportInput) (status.ReportResult, error) {
		seen = in
		return status.ReportResult{Outcome: status.OutcomeReported, State: shared.StateError, NeedsReconcile: true}, nil
	}
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 1, w.count("sync"))
		require.True(t, seen.Parked)
	}, 24*time.Hour)
	endKyma(env, w, 25*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestATransientFailureIsRetriedByADurableTimer(t *testing.T) {
	w := quietFixture()
	w.resolve = func(n int) (resolve.Result, error) {
		if n <= 5 { // all attempts of the activity's own retry policy
			return resolve.Result{}, errors.New("etcd leader changed")
		}
		return resolved()
	}
	env := environment(t, w)
	env.RegisterDelayedCallback(func() { require.Equal(t, 6, w.count("resolve")) }, 10*time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestInputsThatChangeDuringAReconcileCauseOneMore(t *testing.T) {
	w := quietFixture()
	w.report = func(n int, _ status.ReportInput) (status.ReportResult, error) {
		res, err := reported(shared.StateReady)
		res.NeedsReconcile = n == 1
		return res, err
	}
	env := environment(t, w)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("sync")) }, time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestAPacedChangeWaitsForItsTurnAndAnEditOvertakesIt(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	turn := env.Now().Add(time.Hour)
	kickAt(env, time.Minute, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate", NotBefore: &turn})
	env.RegisterDelayedCallback(func() { require.Equal(t, 1, w.count("sync")) }, 50*time.Minute)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("sync")) }, 61*time.Minute)

	second := env.Now().Add(3 * time.Hour)
	kickAt(env, 2*time.Hour, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate", NotBefore: &second})
	kickAt(env, 2*time.Hour+time.Minute, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
	env.RegisterDelayedCallback(func() { require.Equal(t, 3, w.count("sync")) }, 2*time.Hour+2*time.Minute)
	endKyma(env, w, 5*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

// deletingFixture returns a Kyma under deletion. After the given number of reconciles its Manifests are gone.
func deletingFixture(attempts int) *fixture {
	w := quietFixture()
	w.sync = func(int) (syncing.Result, error) { return syncing.Result{Outcome: syncing.OutcomeDeleting}, nil }
	w.report = func(int, status.ReportInput) (status.ReportResult, error) { return reported(shared.StateDeleting) }
	w.delete = func(n int) (resolve.DeleteResult, error) {
		if n < attempts {
			return resolve.DeleteResult{Outcome: resolve.OutcomeDeleting, Remaining: []string{"demo-sample-1"}}, nil
		}
		return resolve.DeleteResult{Outcome: resolve.OutcomeDeleting}, nil
	}
	return w
}

func TestAKymaIsRemovedInOrder(t *testing.T) {
	w := deletingFixture(2)
	env := environment(t, w)
	kickAt(env, 30*time.Second, kick.Kick{Reason: "Manifest is gone", Kind: "Manifest", Name: "demo-sample-1", Urgent: true})
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "report", "delete", "delete", "cleanup", "release"}, w.calls)
}

func TestTheRemovalOfTheLastModuleEndsTheRemovalOfTheKyma(t *testing.T) {
	w := deletingFixture(0)
	w.delete = func(int) (resolve.DeleteResult, error) {
		res := resolve.DeleteResult{Outcome: resolve.OutcomeDeleting}
		if w.count("remove") == 0 {
			res.Remaining, res.Removing = []string{manifestRef.Name}, []kick.Ref{manifestRef}
		}
		return res, nil
	}
	env := environment(t, w)
	carry := &Carry{Reconciled: true, Deleting: true}
	carry.Pending = mailbox.Pending{Count: 1, Urgent: true}
	began := env.Now()
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef, Carry: carry})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"report", "delete", "remove", "delete", "cleanup", "release"}, w.calls, "one report covers the removal of the modules")
	require.Less(t, env.Now().Sub(began), time.Second, "no step waits for a kick")
}

func TestARemovalContinuesAfterALostKick(t *testing.T) {
	w := deletingFixture(3)
	env := environment(t, w)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.count("release"))
}

func TestADeletionOfASleepingKymaIsActedOnAtOnce(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		deleting := deletingFixture(1)
		w.sync, w.report, w.delete = deleting.sync, deleting.report, deleting.delete
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Kyma is being deleted", Urgent: true, Deleting: true})
	}, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.count("release"))
}

func TestAClusterThatCannotBeReachedKeepsAKymaUnderDeletion(t *testing.T) {
	w := deletingFixture(1)
	w.cleanup = func(int) (syncing.Result, error) {
		return syncing.Result{}, fault.New(fault.Unreachable, "UnreachableTimeout", "timed out")
	}
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		require.Zero(t, w.count("release"))
		w.cleanup = quietFixture().cleanup
	}, 23*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.count("release"))
}

func TestAfterTwoReadsWithoutAccessSecretTheKymaIsReleased(t *testing.T) {
	w := deletingFixture(1)
	w.cleanup = func(int) (syncing.Result, error) {
		return syncing.Result{}, fault.New(fault.Unreachable, clusters.ReasonAccessSecretNotFound, "access secret not found")
	}
	env := environment(t, w)
	env.RegisterDelayedCallback(func() { require.Zero(t, w.count("release"), "one read is not enough") }, 110*time.Second)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.count("release"))
}

func TestARunThatFindsNothingCompletesWithoutTouchingAnything(t *testing.T) {
	w := quietFixture()
	w.sync = func(int) (syncing.Result, error) { return syncing.Result{Outcome: syncing.OutcomeGone}, nil }
	env := environment(t, w)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync"}, w.calls)
}

// continued runs the workflow until it continues as new, and returns the input of the next run.
func continued(t *testing.T, err error) Input {
	t.Helper()
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, err, &again)
	var next Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	return next
}

func TestContinueAsNewCarriesTheKicksThatCameWithIt(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	turn := env.Now().Add(time.Hour)
	env.RegisterDelayedCallback(func() {
		for range 3 {
			env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate", NotBefore: &turn})
		}
		env.SignalWorkflow(kick.SignalContinueAsNew, nil)
	}, time.Minute)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())
	require.Equal(t, 3, next.Carry.Later.Count)
	require.Equal(t, kymaRef, next.Ref)

	second := quietFixture()
	env = environment(t, second)
	env.SetStartTime(turn.Add(-time.Minute))
	env.RegisterDelayedCallback(func() { require.Empty(t, second.calls, "its turn has not come") }, 50*time.Second)
	env.RegisterDelayedCallback(func() { require.Equal(t, wholeReconcile, second.calls) }, 2*time.Minute)
	endKyma(env, second, time.Hour)
	env.ExecuteWorkflow(Workflow, next)
	require.NoError(t, env.GetWorkflowError())
}

func TestARunThatContinuedWithoutAKickDoesNotReconcile(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.SignalContinueAsNew, nil) }, time.Minute)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())

	second := quietFixture()
	env = environment(t, second)
	env.RegisterDelayedCallback(func() {
		require.Empty(t, second.calls)
		require.Equal(t, "Ready", workflowtest.ViewOf(t, env).State, "the view is carried")
	}, time.Hour)
	endKyma(env, second, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, next)
	require.NoError(t, env.GetWorkflowError())
}

func TestTheReconcileUpdateAnswersAfterOneCompletedReconcile(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	answer := &updateAnswer{}
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer) }, time.Hour)
	env.RegisterDelayedCallback(func() {
		require.NoError(t, answer.err)
		require.Equal(t, ReconcileResult{State: "Ready", Message: "Ready", Completed: true}, answer.result)
		require.Equal(t, 2, w.count("sync"))
	}, 2*time.Hour)
	endKyma(env, w, 3*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestTheReconcileUpdateAnswersWithinThirtySeconds(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	answer := &updateAnswer{}
	asked := false
	w.resolve = func(int) (resolve.Result, error) {
		if asked {
			return resolve.Result{}, errors.New("does not come to an end within the activity's retries")
		}
		return resolved()
	}
	env.RegisterDelayedCallback(func() {
		asked = true
		env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer)
	}, time.Hour)
	env.RegisterDelayedCallback(func() {
		require.NoError(t, answer.err)
		require.Equal(t, "Ready", answer.result.State)
	}, time.Hour+31*time.Second)
	endKyma(env, w, 3*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}
