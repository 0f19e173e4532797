package kyma

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

// ready is the result of a step after which the module needs no more work.
func ready() install.ApplyResult {
	return install.ApplyResult{
		Outcome: manifests.OutcomeApplied, Module: "sample", Version: "1.0.0", Judged: true, Observed: readiness.Observed{State: shared.StateReady},
	}
}

// beginning makes the first resolution begin these Manifests. Each later one begins the Manifests of named modules.
func (w *fixture) beginning(refs ...kick.Ref) {
	w.resolve = func(n int) (resolve.Result, error) {
		res, err := resolved()
		if n == 1 || len(w.named[n-1]) > 0 {
			res.Begin = refs
		}
		return res, err
	}
}

func TestAModuleThatHangsDelaysNeitherOthersNorItsKyma(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	other := kick.Ref{Namespace: manifestRef.Namespace, Name: "demo-other-1", UID: "other-uid"}
	w.beginning(manifestRef, other)
	freed := make(chan struct{})
	w.applying = func(ref kick.Ref) (install.ApplyResult, error) {
		if ref == other {
			env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
			return ready(), nil
		}
		select {
		case <-freed:
			return ready(), nil
		case <-time.After(5 * time.Second):
			return install.ApplyResult{}, errors.New("the other module did not get its turn")
		}
	}
	w.sync = func(n int) (syncing.Result, error) {
		if n == 2 { // for the edit, which comes after the installation of the other module
			close(freed)
		}
		return synced()
	}
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.count("apply"), "neither failed")
}

func TestModulesThatWereNamedAreRememberedUntilTheClusterAnswers(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	w.report = func(int, status.ReportInput) (status.ReportResult, error) {
		res, err := reported(shared.StateReady)
		res.Modules = []status.Module{{Name: "sample"}}
		return res, err
	}
	env.RegisterDelayedCallback(func() {
		w.sync = func(int) (syncing.Result, error) {
			return syncing.Result{}, fault.New(fault.Rejected, "KubeconfigRejected", "no kubeconfig")
		}
		env.UpdateWorkflow(kick.UpdateReconcile, "u1", &updateAnswer{}, ReconcileRequest{Modules: []string{"sample"}})
	}, time.Hour)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 1, w.count("resolve"))
		w.sync = func(int) (syncing.Result, error) { return synced() }
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Secret changed", Kind: "Secret", Urgent: true})
	}, 2*time.Hour)
	endKyma(env, w, 3*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, [][]string{nil, {"sample"}}, w.named)
}

func TestTheReconcileUpdateWorksOnTheModulesThatItNames(t *testing.T) {
	for name, c := range map[string]struct {
		// working is true if the module has not settled.
		working bool
		named   []string
	}{
		"the resolution finds a settled module": {working: false, named: []string{"sample"}},
		"a busy module is kicked":               {working: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := quietFixture()
			env := environment(t, w)
			w.beginning(manifestRef)
			w.applying = func(kick.Ref) (install.ApplyResult, error) {
				result := ready()
				if result.Judged = !c.working || w.count("apply") > 1; !result.Judged {
					result.Observed.State = shared.StateProcessing
				}
				return result, nil
			}
			w.wait = func(int, install.Followed) (readiness.Observed, error) {
				return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: 30 * time.Second}
			}
			sample := status.Module{Name: "sample", Version: "1.0.0", State: shared.StateReady}
			w.report = func(int, status.ReportInput) (status.ReportResult, error) {
				res, err := reported(shared.StateReady)
				res.Modules = []status.Module{{Name: "other"}, sample}
				return res, err
			}
			answer, unknown := &updateAnswer{}, &updateAnswer{}
			env.RegisterDelayedCallback(func() {
				require.Equal(t, 1, w.count("apply"))
				env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer, ReconcileRequest{Modules: []string{"sample"}})
				env.UpdateWorkflow(kick.UpdateReconcile, "u2", unknown, ReconcileRequest{Modules: []string{"smaple"}})
			}, 10*time.Minute)
			endKyma(env, w, time.Hour)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NoError(t, env.GetWorkflowError())
			require.NoError(t, answer.err)
			require.Equal(t, ReconcileResult{State: "Ready", Message: "Ready", Completed: true, Modules: []status.Module{sample}}, answer.result)
			require.ErrorContains(t, unknown.err, `the Kyma has no module "smaple"`)
			require.Equal(t, 2, w.count("apply"), "a settled module is compared with its cluster too")
			require.Equal(t, c.named, w.named[1])
		})
	}
}

// An unreachable cluster is a fault of the cluster, not of a module. So one module retries for all.
func TestOneModuleProbesAnUnreachableClusterForAll(t *testing.T) {
	refs := []kick.Ref{{Namespace: "kcp-system", Name: "m1", UID: "1"}, {Namespace: "kcp-system", Name: "m2", UID: "2"}, {Namespace: "kcp-system", Name: "m3", UID: "3"}}
	for name, c := range map[string]struct {
		// answersAfter is the number of attempts after which the cluster answers.
		answersAfter, attempts int
	}{
		"that stays unreachable": {answersAfter: 100, attempts: len(refs) + unreachableAttempts},
		"that answers again":     {answersAfter: len(refs) + 2, attempts: len(refs) + 2 + len(refs)},
	} {
		t.Run(name, func(t *testing.T) {
			w := quietFixture()
			env := environment(t, w)
			w.beginning(refs...)
			w.applying = func(kick.Ref) (install.ApplyResult, error) {
				if w.count("apply") <= c.answersAfter {
					return install.ApplyResult{}, fault.ToTemporal(unreachable)
				}
				return ready(), nil
			}
			env.RegisterDelayedCallback(func() {
				waiting := 0
				for _, m := range workflowtest.ViewOf(t, env).Modules {
					if strings.HasPrefix(m.WaitingFor, "another module to reach the cluster") {
						waiting++
					}
				}
				require.Equal(t, len(refs)-1, waiting, "the others are parked")
			}, 3*time.Second)
			endKyma(env, w, time.Hour)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, c.attempts, w.count("apply"))
		})
	}
}

func TestAReconcileThatReachesTheClusterFreesTheParkedModules(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	other := kick.Ref{Namespace: manifestRef.Namespace, Name: "demo-other-1", UID: "other-uid"}
	w.resolve = func(n int) (resolve.Result, error) {
		res, err := resolved()
		if n == 1 {
			res.Begin = []kick.Ref{manifestRef, other}
		}
		return res, err
	}
	var mu sync.Mutex
	applied := map[kick.Ref]int{}
	w.applying = func(ref kick.Ref) (install.ApplyResult, error) {
		mu.Lock()
		applied[ref]++
		mu.Unlock()
		if w.count("sync") == 1 {
			return install.ApplyResult{}, fault.ToTemporal(unreachable)
		}
		return ready(), nil
	}
	kickAt(env, 3*time.Second, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, map[kick.Ref]int{manifestRef: 2, other: 2}, applied)
}

// The label stops the plan of a Kyma but not its modules: drift detection, retries and removals continue.
func TestTheModulesOfASkippedKymaAreWorkedOn(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	w.resolve = func(int) (resolve.Result, error) { return resolve.Result{Outcome: resolve.OutcomeSkipped}, nil }
	env.RegisterDelayedCallback(func() {
		kickModule(env, kick.Kick{Reason: "objects are not as they should be"})
	}, time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, w.count("apply"))
	require.Equal(t, 1, w.count("write Ready"))
}

// The sweep cannot see whether a coroutine is working on a module.
func TestABusyModuleIgnoresKicksForIdleModules(t *testing.T) {
	for name, c := range map[string]struct {
		waits, deleting bool
		applied         int
	}{
		"it waits to become ready":      {waits: true, applied: 1},
		"it has settled":                {applied: 2},
		"its removal has not begun yet": {waits: true, deleting: true, applied: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := quietFixture()
			env := environment(t, w)
			w.beginning(manifestRef)
			if c.waits {
				w.wait = func(int, install.Followed) (readiness.Observed, error) {
					return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: 30 * time.Second}
				}
			}
			kickAt(env, 10*time.Minute, forModule(kick.Kick{Reason: "the Manifest is not settled", IfIdle: true, Deleting: c.deleting}))
			env.RegisterDelayedCallback(func() {
				require.Equal(t, c.applied, w.count("apply"))
				require.Equal(t, c.deleting, w.count("remove") == 1)
				kickModule(env, kick.Kick{Reason: "Manifest is being deleted", Urgent: true, Deleting: true})
			}, time.Hour)
			endKyma(env, w, 2*time.Hour)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NoError(t, env.GetWorkflowError())
		})
	}
}

func TestAModuleThatIsNotAsPlannedMakesItsKymaPlanAgain(t *testing.T) {
	refused := install.ApplyResult{Outcome: manifests.OutcomeRefused, News: manifests.News{Kick: &kick.Kick{
		Reason: "a Manifest is not as planned", Kind: "Manifest", Name: manifestRef.Name, Urgent: true, Whole: true,
	}}}
	for name, refuse := range map[string]func(*fixture){
		"refused by its own step": func(w *fixture) { w.applying = func(kick.Ref) (install.ApplyResult, error) { return refused, nil } },
		"refused in the reconcile of its Kyma": func(w *fixture) {
			w.installed = func(int, kick.Ref) install.ApplyResult { return refused }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := quietFixture()
			env := environment(t, w)
			w.beginning(manifestRef)
			refuse(w)
			endKyma(env, w, time.Hour)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, 2, w.count("resolve"))
		})
	}
}

func TestANoisyModuleSlowsOnlyItself(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	other := kick.Ref{Namespace: manifestRef.Namespace, Name: "demo-other-1", UID: "other-uid"}
	var began time.Time
	var mu sync.Mutex
	noisy, quiet := 0, time.Duration(0)
	w.applying = func(ref kick.Ref) (install.ApplyResult, error) {
		mu.Lock()
		defer mu.Unlock()
		if ref == other {
			quiet = env.Now().Sub(began)
		} else {
			noisy++
		}
		return ready(), nil
	}
	for i := range 600 {
		env.RegisterDelayedCallback(func() { kickModule(env, kick.Kick{Reason: "the module changed its state"}) }, time.Minute+time.Duration(i)*100*time.Millisecond)
	}
	const at = time.Minute + 50*time.Second
	env.RegisterDelayedCallback(func() {
		k := forModule(kick.Kick{Reason: "the module changed its state"})
		k.Name, k.UID = other.Name, other.UID
		env.SignalWorkflow(kick.Signal, k)
	}, at)
	endKyma(env, w, time.Hour)
	began = env.Now()
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.LessOrEqual(t, noisy, 8, "at 0, 1, 3, 7, 15, 31 and 61 s")
	require.InDelta(t, at, quiet, float64(100*time.Millisecond))
}

// A failing workflow task stops all modules of a Kyma. So no answer of an activity may make a task fail.
func TestTheWorkContinuesWhateverAnActivityAnswers(t *testing.T) {
	outcomes := []manifests.Outcome{
		"", "of a later release", manifests.OutcomeApplied, manifests.OutcomeGone, manifests.OutcomeNotOurs, manifests.OutcomeDeleting, manifests.OutcomeSkipped,
		manifests.OutcomeUnmanaged, manifests.OutcomeShared, manifests.OutcomeRefused, manifests.OutcomeIncomplete, manifests.OutcomeLater,
		manifests.OutcomeWaiting, manifests.OutcomeRemoved,
	}
	observed := []readiness.Observed{{}, {State: "of a later release"}, {State: shared.StateReady}, {State: shared.StateError, Reason: readiness.ReasonWorkloadStuck}, {State: shared.StateProcessing, DefaultCRWanted: true}}
	for i, outcome := range outcomes {
		for j, seen := range observed {
			w := quietFixture()
			w.beginning(manifestRef)
			if i%2 == 0 {
				w.installed = func(int, kick.Ref) install.ApplyResult { return install.ApplyResult{Outcome: outcome, Observed: seen} }
			}
			w.apply = func(_ context.Context, n int) (install.ApplyResult, error) {
				if n > 2 {
					return ready(), nil
				}
				return install.ApplyResult{Outcome: outcome, Observed: seen}, nil
			}
			w.wait = func(n int, _ install.Followed) (readiness.Observed, error) {
				if n > 2 {
					return readiness.Observed{State: shared.StateReady}, nil
				}
				return seen, nil
			}
			w.remove = func(n int) (uninstall.RemoveResult, error) {
				if n > 2 {
					return uninstall.RemoveResult{Outcome: manifests.OutcomeRemoved}, nil
				}
				return uninstall.RemoveResult{Outcome: outcome, Observed: seen}, nil
			}
			w.waitGone = w.remove
			w.write = func(n int, _ manifests.ReportInput) (manifests.ReportResult, error) {
				if n > 2 {
					return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
				}
				return manifests.ReportResult{Outcome: outcome}, nil
			}
			env := environment(t, w)
			env.RegisterDelayedCallback(func() { kickModule(env, kick.Kick{Reason: "Manifest is being deleted", Urgent: true, Deleting: true}) }, 2*time.Hour)
			endKyma(env, w, 4*time.Hour)
			env.RegisterDelayedCallback(func() {
				require.Empty(t, workflowtest.ViewOf(t, env).Modules, "%s %v", outcome, j)
			}, 3*time.Hour+30*time.Minute)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.True(t, env.IsWorkflowCompleted(), "%s %v", outcome, seen)
			require.NoError(t, env.GetWorkflowError(), "%s %v", outcome, seen)
		}
	}
}
