package kyma

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
)

func TestAModuleIsInstalledFollowedAndSettled(t *testing.T) {
	w := quietFixture()
	w.wait = func(n int, in install.Followed) (readiness.Observed, error) {
		if n == 1 {
			require.EqualValues(t, "Processing", in.Reported.State)
			return readiness.Observed{State: shared.StateProcessing, DefaultCRWanted: true}, nil
		}
		require.Equal(t, "made", in.Reported.Message, "the wait compares with the last reported state")
		return readiness.Observed{State: shared.StateReady}, nil
	}
	var last manifests.ReportInput
	w.write = func(_ int, in manifests.ReportInput) (manifests.ReportResult, error) {
		last = in
		return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
	}
	env := environment(t, w)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"apply", "wait", "default CR", "wait", "write Ready"}, w.steps())
	require.Equal(t, manifests.ReportInput{
		Ref: manifestRef, Observed: readiness.Observed{State: shared.StateReady}, InputsDigest: "m-1", Settled: true,
	}, last)
}

func TestAReconcileThatCheckedTheHealthOfTheModuleNeedsNoWait(t *testing.T) {
	w := quietFixture()
	w.apply = func(context.Context, int) (install.ApplyResult, error) {
		return install.ApplyResult{
			Outcome: manifests.OutcomeApplied, InputsDigest: "m-1", Judged: true, Observed: readiness.Observed{State: shared.StateReady},
		}, nil
	}
	env := environment(t, w)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"apply"}, w.steps())
}

func TestWaitingForAModuleIsBenign(t *testing.T) {
	w := quietFixture()
	w.wait = func(n int, _ install.Followed) (readiness.Observed, error) {
		if n < 100 {
			return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Reason: "NotReady", Message: "not ready", RetryAfter: 10 * time.Second}
		}
		return readiness.Observed{State: shared.StateReady}, nil
	}
	env := environment(t, w)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.count("apply"))
	require.Equal(t, 1, w.count("write Ready"))
}

func TestAWaitThatReachesItsDeadlineIsStartedAgain(t *testing.T) {
	w := quietFixture()
	started := time.Time{}
	env := environment(t, w)
	w.wait = func(int, install.Followed) (readiness.Observed, error) {
		if started.IsZero() {
			started = env.Now()
		}
		if env.Now().Sub(started) < 3*attempts.WaitDeadline {
			return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Reason: "NotReady", Message: "not ready", RetryAfter: time.Minute}
		}
		return readiness.Observed{State: shared.StateReady}, nil
	}
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Zero(t, w.count("write Error"), "a passed deadline is no error")
	require.Equal(t, 1, w.count("write Ready"))
}

func TestAChangeWhileTheModuleIsFollowedLeadsToANewReconcile(t *testing.T) {
	w := quietFixture()
	changed := false
	env := environment(t, w)
	w.wait = func(int, install.Followed) (readiness.Observed, error) {
		if !changed {
			return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: 30 * time.Second}
		}
		return readiness.Observed{State: shared.StateReady}, nil
	}
	env.RegisterDelayedCallback(func() {
		changed = true
		kickModule(env, kick.Kick{Reason: "Manifest changed", Kind: "Manifest", Urgent: true})
	}, 5*time.Minute)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.count("apply"))
}

func TestAKickDuringTheLastStepMeansOneMoreReconcile(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	w.write = func(n int, _ manifests.ReportInput) (manifests.ReportResult, error) {
		if n == 1 {
			kickModule(env, kick.Kick{Reason: "Manifest changed", Kind: "Manifest", Urgent: true})
		}
		return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
	}
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.count("apply"))
}

func TestDeletedObjectsOfAFollowedModuleAreRecreatedWithBackoff(t *testing.T) {
	w := quietFixture()
	var reconciles []time.Time
	env := environment(t, w)
	w.apply = func(context.Context, int) (install.ApplyResult, error) {
		reconciles = append(reconciles, env.Now())
		return quietFixture().apply(context.Background(), 1)
	}
	w.wait = func(n int, _ install.Followed) (readiness.Observed, error) {
		if n <= 6 {
			return readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonResourcesMissing, Message: "gone"}, nil
		}
		return readiness.Observed{State: shared.StateReady}, nil
	}
	var reported []manifests.ReportInput
	w.write = func(_ int, in manifests.ReportInput) (manifests.ReportResult, error) {
		reported = append(reported, in)
		return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
	}
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, reconciles, 7, "each deletion causes another reconcile")
	for n := 2; n < len(reconciles); n++ {
		require.Greater(t, reconciles[n].Sub(reconciles[n-1]), reconciles[n-1].Sub(reconciles[n-2]), "each wait is longer than the previous one")
	}
	require.Equal(t, readiness.ReasonResourcesMissing, reported[0].Observed.Reason)
	require.Equal(t, shared.StateProcessing, reported[0].Observed.State)
	require.False(t, reported[0].Settled)
	require.Equal(t, shared.StateReady, reported[6].Observed.State)
}

func TestARejectedStepIsReportedAndSettles(t *testing.T) {
	w := quietFixture()
	w.apply = func(context.Context, int) (install.ApplyResult, error) {
		return install.ApplyResult{}, fault.New(fault.Rejected, "InvalidManifest", "the layer does not match its digest")
	}
	var last manifests.ReportInput
	w.write = func(_ int, in manifests.ReportInput) (manifests.ReportResult, error) {
		last = in
		return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
	}
	env := environment(t, w)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"apply", "write Error"}, w.steps())
	require.True(t, last.Settled)
	require.Equal(t, "InvalidManifest", last.Observed.Reason)
}

func TestAMissingLayerIsAnErrorAtOnceAndRetriedSlowly(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	began := env.Now()
	var again time.Duration
	w.apply = func(_ context.Context, n int) (install.ApplyResult, error) {
		if n == 1 {
			return install.ApplyResult{}, fault.ToTemporal(&fault.Error{Kind: fault.Transient, Reason: "LayerNotFound", Message: "the registry does not have it", SlowRetry: true})
		}
		again = env.Now().Sub(began)
		return quietFixture().apply(context.Background(), n)
	}
	var first manifests.ReportInput
	w.write = func(_ int, in manifests.ReportInput) (manifests.ReportResult, error) {
		if in.Observed.State == shared.StateError {
			first = in
		}
		return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
	}
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"apply", "write Error", "apply", "wait", "write Ready"}, w.steps())
	require.Equal(t, "LayerNotFound", first.Observed.Reason)
	require.False(t, first.Settled)
	require.GreaterOrEqual(t, again, 15*time.Minute)
}

func TestATransientFailureIsReportedAndRetried(t *testing.T) {
	w := quietFixture()
	w.apply = func(_ context.Context, n int) (install.ApplyResult, error) {
		if n <= 5 {
			return install.ApplyResult{}, errors.New("registry answers 503")
		}
		return quietFixture().apply(context.Background(), n)
	}
	env := environment(t, w)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.count("write Error"))
	require.Equal(t, 1, w.count("write Ready"))
}

func TestAnInstallationWithFailedObjectsIsRepeated(t *testing.T) {
	w := quietFixture()
	w.apply = func(_ context.Context, n int) (install.ApplyResult, error) {
		res, err := quietFixture().apply(context.Background(), n)
		if n == 1 {
			res.Outcome = manifests.OutcomeIncomplete
			res.Observed = readiness.Observed{State: shared.StateError, Reason: "ObjectsFailed", Message: "1 of 3 objects failed"}
		}
		return res, err
	}
	env := environment(t, w)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"apply", "write Error", "apply", "wait", "write Ready"}, w.steps())
}

func TestAnInstallationThatTakesManyReconcilesIsNotSlowedDown(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	began := env.Now()
	var took time.Duration
	w.apply = func(_ context.Context, n int) (install.ApplyResult, error) {
		res, err := quietFixture().apply(context.Background(), n)
		if n <= 10 {
			res.Outcome = manifests.OutcomeIncomplete
			res.Observed = readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonApplyContinues, Message: "some are applied"}
		}
		took = env.Now().Sub(began)
		return res, err
	}
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 11, w.count("apply"))
	require.Less(t, took, 100*time.Second)
}

func TestAManifestIsRemovedStepByStep(t *testing.T) {
	w := quietFixture()
	w.apply = func(context.Context, int) (install.ApplyResult, error) {
		return install.ApplyResult{Outcome: manifests.OutcomeDeleting}, nil
	}
	w.remove = func(n int) (uninstall.RemoveResult, error) {
		if n < 3 {
			return uninstall.RemoveResult{
				Outcome:  manifests.OutcomeWaiting,
				Observed: readiness.Observed{State: shared.StateDeleting, Message: shared.MessageWaitingForModuleCRsDeletion},
			}, nil
		}
		return uninstall.RemoveResult{Outcome: manifests.OutcomeRemoved}, nil
	}
	env := environment(t, w)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{
		"apply", "remove", "write Deleting", "wait for removal", "remove", "wait for removal", "remove",
	}, w.steps(), "an unchanged message is reported once")
}

func TestADeletionInterruptsARunningInstallation(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	w.apply = func(ctx context.Context, _ int) (install.ApplyResult, error) {
		kickModule(env, kick.Kick{Reason: "Manifest is being deleted", Kind: "Manifest", Urgent: true, Deleting: true})
		select {
		case <-ctx.Done():
			return install.ApplyResult{}, ctx.Err()
		case <-time.After(10 * time.Second):
			return install.ApplyResult{}, errors.New("was not canceled")
		}
	}
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"apply", "remove"}, w.steps())
}

// Whatever the run was doing when the deletion came, its next step is the removal.
func TestADeletionAtAnyStageLeadsToTheRemoval(t *testing.T) {
	deletion := kick.Kick{Reason: "Manifest is being deleted", Kind: "Manifest", Urgent: true, Deleting: true}
	stages := map[string]func(w *fixture, kicked func()){
		"after the installation": func(w *fixture, kicked func()) {
			apply := w.apply
			w.apply = func(ctx context.Context, n int) (install.ApplyResult, error) {
				res, err := apply(ctx, n)
				kicked()
				return res, err
			}
		},
		"while waiting for the module": func(w *fixture, kicked func()) {
			w.wait = func(n int, _ install.Followed) (readiness.Observed, error) {
				if n == 3 {
					kicked()
				}
				return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: 30 * time.Second}
			}
		},
		"while the default custom resource is created": func(w *fixture, kicked func()) {
			w.wait = func(int, install.Followed) (readiness.Observed, error) {
				return readiness.Observed{DefaultCRWanted: true, State: shared.StateProcessing}, nil
			}
			w.defaults = func(int) (readiness.Observed, error) {
				kicked()
				return readiness.Observed{State: shared.StateProcessing}, nil
			}
		},
		"while Ready is reported": func(w *fixture, kicked func()) {
			w.write = func(int, manifests.ReportInput) (manifests.ReportResult, error) {
				kicked()
				return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
			}
		},
		"while a failed step waits for its retry": func(w *fixture, kicked func()) {
			w.apply = func(context.Context, int) (install.ApplyResult, error) {
				return install.ApplyResult{}, fault.New(fault.Unreachable, "UnreachableTimeout", "timed out")
			}
			w.write = func(n int, _ manifests.ReportInput) (manifests.ReportResult, error) {
				if n == 1 {
					kicked()
				}
				return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
			}
		},
	}
	for name, stage := range stages {
		t.Run(name, func(t *testing.T) {
			w := quietFixture()
			env := environment(t, w)
			once := false
			stage(w, func() {
				if !once {
					once = true
					kickModule(env, deletion)
				}
			})
			workOnModule(env, w)
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, "remove", w.steps()[len(w.steps())-1], "calls: %v", w.steps())
			require.Equal(t, 1, w.count("remove"))
		})
	}
}

func TestAKickThatWronglyNamesADeletionRemovesNothing(t *testing.T) {
	w := quietFixture()
	w.remove = func(int) (uninstall.RemoveResult, error) {
		return uninstall.RemoveResult{Outcome: manifests.OutcomeApplied}, nil
	}
	env := environment(t, w)
	w.wait = func(n int, _ install.Followed) (readiness.Observed, error) {
		if n == 1 {
			kickModule(env, kick.Kick{Deleting: true, Urgent: true})
			return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: time.Second}
		}
		return readiness.Observed{State: shared.StateReady}, nil
	}
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, "write Ready", w.steps()[len(w.steps())-1])
}

func TestAManifestThatIsGoneEndsTheRunWithoutAnyWrite(t *testing.T) {
	w := quietFixture()
	w.apply = func(context.Context, int) (install.ApplyResult, error) {
		return install.ApplyResult{Outcome: manifests.OutcomeGone}, nil
	}
	env := environment(t, w)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"apply"}, w.steps())
}

// Otherwise the next run would wait for the module forever, even after the Kyma is gone.
func TestAModuleThatSettlesWhileTheRunEndsIsNotCarried(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	w.apply = func(context.Context, int) (install.ApplyResult, error) {
		env.SignalWorkflow(kick.SignalContinueAsNew, nil)
		time.Sleep(100 * time.Millisecond) // the workflow sees the signal before the step ends
		return install.ApplyResult{Outcome: manifests.OutcomeApplied, Judged: true, Observed: readiness.Observed{State: shared.StateReady}}, nil
	}
	workOnModule(env, w)
	require.Empty(t, continued(t, env.GetWorkflowError()).Carry.Modules)
}

func TestAFollowedModuleSurvivesContinueAsNew(t *testing.T) {
	w := quietFixture()
	w.wait = func(int, install.Followed) (readiness.Observed, error) {
		return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: 30 * time.Second}
	}
	env := environment(t, w)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.SignalContinueAsNew, nil) }, 10*time.Minute)
	workOnModule(env, w)
	next := continued(t, env.GetWorkflowError())
	require.Len(t, next.Carry.Modules, 1)

	second := quietFixture()
	env = environment(t, second)
	workFrom(env, second, next.Carry.Modules[0])
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"wait", "write Ready"}, second.steps(), "the next run continues where the first one stopped")
}
