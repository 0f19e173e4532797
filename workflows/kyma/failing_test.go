package kyma

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

var unreachable = fault.New(fault.Unreachable, "UnreachableNetwork", "no route to host")

// lastWrite records the last state that was written into a Manifest's status.
func lastWrite(w *fixture) *manifests.ReportInput {
	last := &manifests.ReportInput{}
	w.write = func(_ int, in manifests.ReportInput) (manifests.ReportResult, error) {
		*last = in
		return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
	}
	return last
}

func TestAManifestWhoseClusterStaysUnreachableIsLeftToTheSweep(t *testing.T) {
	w := quietFixture()
	w.apply = func(context.Context, int) (install.ApplyResult, error) { return install.ApplyResult{}, unreachable }
	last := lastWrite(w)
	env := environment(t, w)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, unreachableAttempts+1, w.count("apply"))
	require.False(t, last.Settled, "the sweep restarts the work when the cluster answers")
}

func TestAManifestUnderDeletionWhoseClusterStaysUnreachableIsLeftToTheSweep(t *testing.T) {
	w := quietFixture()
	w.apply = func(context.Context, int) (install.ApplyResult, error) {
		return install.ApplyResult{Outcome: manifests.OutcomeDeleting}, nil
	}
	w.remove = func(int) (uninstall.RemoveResult, error) { return uninstall.RemoveResult{}, unreachable }
	env := environment(t, w)
	kickAt(env, time.Second, forModule(kick.Kick{Reason: "Manifest is being deleted", Urgent: true, Deleting: true}))
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, unreachableAttempts+1, w.count("remove"))
}

// Only its own workflow retries: the sweep finds no Kyma to kick.
func TestTheRemovalOfAModuleWhoseKymaIsGoneIsRetriedLater(t *testing.T) {
	for _, f := range []error{unreachable, fault.New(fault.Rejected, "Forbidden", "not allowed")} {
		w := waitingRemoval()
		env := environment(t, w)
		started := env.Now()
		w.remove = func(int) (uninstall.RemoveResult, error) {
			if env.Now().Sub(started) < 6*time.Hour {
				return uninstall.RemoveResult{}, f
			}
			return uninstall.RemoveResult{Outcome: manifests.OutcomeRemoved}, nil
		}
		soon := 0
		env.RegisterDelayedCallback(func() { soon = w.count("remove") }, time.Hour)
		kickAt(env, 2*time.Hour, forModule(kick.Kick{Reason: "the Manifest is not settled", Deleting: true, IfIdle: true}))
		workOnModule(env, w)
		require.NoError(t, env.GetWorkflowError())
		require.Equal(t, soon+1, w.count("remove"), "kicks by the sweep start nothing in the meantime")
	}
}

func TestAnAccessFaultDoesNotSettleAManifest(t *testing.T) {
	for _, reason := range []string{clusters.ReasonKubeconfigRejected, clusters.ReasonAccessSecretAmbiguous, clusters.ReasonClusterChanged} {
		w := quietFixture()
		w.apply = func(context.Context, int) (install.ApplyResult, error) {
			return install.ApplyResult{}, fault.New(fault.Rejected, reason, "no access")
		}
		last := lastWrite(w)
		env := environment(t, w)
		workOnModule(env, w)
		require.NoError(t, env.GetWorkflowError())
		require.Equal(t, []string{"apply", "write Error"}, w.steps(), "no retry without a change")
		require.False(t, last.Settled, "the Secret is not an input of the Manifest")
		require.EqualValues(t, "Error", last.Observed.State)
	}
}

func TestAModuleThatCanBeAppliedButNotReadIsNotAppliedForEver(t *testing.T) {
	w := quietFixture()
	w.wait = func(int, install.Followed) (readiness.Observed, error) { return readiness.Observed{}, unreachable }
	env := environment(t, w)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, unreachableAttempts+1, w.count("apply"))
}

func TestARemovalThatCannotBeFollowedIsNotRepeatedForEver(t *testing.T) {
	w := quietFixture()
	w.apply = func(context.Context, int) (install.ApplyResult, error) {
		return install.ApplyResult{Outcome: manifests.OutcomeDeleting}, nil
	}
	w.remove = func(int) (uninstall.RemoveResult, error) {
		return uninstall.RemoveResult{Outcome: manifests.OutcomeWaiting, Observed: readiness.Observed{State: shared.StateDeleting, Message: "waiting"}}, nil
	}
	w.waitGone = func(int) (uninstall.RemoveResult, error) { return uninstall.RemoveResult{}, unreachable }
	env := environment(t, w)
	kickAt(env, time.Second, forModule(kick.Kick{Reason: "Manifest is being deleted", Urgent: true, Deleting: true}))
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, unreachableAttempts+1, w.count("remove"))
}

func TestADefaultCRThatIsAlwaysDeletedIsRecreatedAtALimitedRate(t *testing.T) {
	w := quietFixture()
	w.wait = func(int, install.Followed) (readiness.Observed, error) {
		return readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonModuleCRWanted, DefaultCRWanted: true}, nil
	}
	w.defaults = func(int) (readiness.Observed, error) {
		return readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonModuleCRPending}, nil
	}
	env := environment(t, w)
	kickAt(env, time.Minute, forModule(kick.Kick{Reason: "Manifest is being deleted", Kind: "Manifest", Urgent: true, Deleting: true}))
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.LessOrEqual(t, w.count("default CR"), 13, "at most one every 5 s for a minute")
}

func TestAFailedStatusWriteIsRetriedAndIsNoFaultOfTheModules(t *testing.T) {
	w := quietFixture()
	var seen []status.ReportInput
	w.report = func(n int, in status.ReportInput) (status.ReportResult, error) {
		if n > 1 && n <= 6 { // all attempts of the activity's own retry policy
			return status.ReportResult{}, errors.New("conflict")
		}
		seen = append(seen, in)
		return reported(shared.StateReady)
	}
	env := environment(t, w)
	kickAt(env, time.Minute, kick.Kick{Reason: "Manifest is Ready", Kind: "Manifest", Name: "m"})
	env.RegisterDelayedCallback(func() {
		require.Len(t, seen, 2, "a failed report is retried without a kick")
		require.Zero(t, seen[1].Faults[fault.PartResolve], "a failed write of the status is no fault of the modules")
		require.True(t, workflowtest.ViewOf(t, env).LastFault.IsZero())
	}, 10*time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestAFailedStatusWriteDoesNotAffectTheNextReport(t *testing.T) {
	w := quietFixture()
	var last status.ReportInput
	w.report = func(n int, in status.ReportInput) (status.ReportResult, error) {
		if n > 1 && n <= 6 {
			return status.ReportResult{}, errors.New("conflict")
		}
		last = in
		return reported(shared.StateReady)
	}
	env := environment(t, w)
	kickAt(env, time.Minute, kick.Kick{Reason: "Manifest is Processing", Kind: "Manifest", Name: "m"})
	kickAt(env, time.Minute+time.Second, kick.Kick{Reason: "Manifest is Ready", Kind: "Manifest", Name: "m", Urgent: true})
	env.RegisterDelayedCallback(func() { require.Zero(t, last.Faults[fault.PartResolve]) }, 90*time.Second)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestADeletionThatOnlyAReportSawIsActedOn(t *testing.T) {
	w := quietFixture()
	w.report = func(n int, _ status.ReportInput) (status.ReportResult, error) {
		res, err := reported(shared.StateReady)
		res.Deleting = n > 1
		return res, err
	}
	env := environment(t, w)
	kickAt(env, time.Minute, kick.Kick{Reason: "Manifest is Ready", Kind: "Manifest", Name: "m"})
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.count("release"))
}

func TestALongBlockedRemovalIsCheckedLessAndLessOften(t *testing.T) {
	w := deletingFixture(1 << 30)
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		require.Less(t, w.count("delete"), 24*6, "a day")
		require.Greater(t, w.count("delete"), 24*3)
		w.delete = func(int) (resolve.DeleteResult, error) {
			return resolve.DeleteResult{Outcome: resolve.OutcomeDeleting}, nil
		}
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Manifest is gone", Kind: "Manifest", Urgent: true})
	}, 24*time.Hour)
	env.RegisterDelayedCallback(func() { require.Fail(t, "the workflow must act on a kick at once") }, 24*time.Hour+30*time.Second)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestAKymaWithoutAccessSecretWaitsForTheSecret(t *testing.T) {
	w := quietFixture()
	w.sync = func(int) (syncing.Result, error) {
		return syncing.Result{}, fault.New(fault.Unreachable, clusters.ReasonAccessSecretNotFound, "access secret not found")
	}
	var last status.ReportInput
	w.report = func(_ int, in status.ReportInput) (status.ReportResult, error) {
		last = in
		return reported(shared.StateError)
	}
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		require.True(t, last.Parked, "the Secret is an input too: with the inputs recorded, its creation wakes this workflow")
	}, time.Hour)
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}
