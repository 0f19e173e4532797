package kyma

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// fleetOf returns a fixture in which the first reconcile of a Kyma installs modules that become ready later, each at
// its own time. It also returns when the status of each was written.
func fleetOf(t *testing.T, readyAt ...time.Duration) (*fixture, *testsuite.TestWorkflowEnvironment, map[string]time.Duration) {
	t.Helper()
	w := quietFixture()
	env := environment(t, w)
	began := env.Now()
	at := map[string]time.Duration{}
	ready := map[kick.Ref]time.Duration{}
	var refs []kick.Ref
	for i, after := range readyAt {
		name := fmt.Sprintf("m%d", i+1)
		ref := kick.Ref{Namespace: "kcp-system", Name: name, UID: "uid-1"}
		ready[ref], refs = after, append(refs, ref)
	}
	w.beginning(refs...)
	w.installed = func(_ int, ref kick.Ref) install.ApplyResult {
		return install.ApplyResult{Outcome: manifests.OutcomeApplied, Module: ref.Name, Version: "1", Observed: readiness.Observed{State: shared.StateProcessing}}
	}
	w.wait = func(_ int, in install.Followed) (readiness.Observed, error) {
		elapsed := env.Now().Sub(began)
		if elapsed >= ready[in.Ref] {
			return readiness.Observed{State: shared.StateReady}, nil
		}
		next := time.Hour
		for _, after := range ready {
			if after > elapsed {
				next = min(next, after-elapsed)
			}
		}
		// Temporal's test environment makes at most ten attempts of an activity.
		return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: next}
	}
	w.write = func(_ int, in manifests.ReportInput) (manifests.ReportResult, error) {
		at[in.Ref.Name] = env.Now().Sub(began).Round(time.Second)
		return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
	}
	return w, env, at
}

// names returns the modules of each activity that reads modules.
func (w *fixture) names() [][]string {
	var all [][]string
	for _, watch := range w.watches {
		var names []string
		for _, m := range watch.Modules {
			names = append(names, m.Ref.Name)
		}
		all = append(all, names)
	}
	return all
}

func TestModulesThatBecomeReadyTogetherAreReadByOneActivityAndReportedInOneStep(t *testing.T) {
	w, env, at := fleetOf(t, 20*time.Second, 20*time.Second, 20*time.Second)
	c := recorded(env)
	reports := 0
	w.report = func(int, status.ReportInput) (status.ReportResult, error) {
		reports++
		return reported(shared.StateReady)
	}
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, [][]string{{"m1", "m2", "m3"}}, w.names())
	require.Len(t, c.activities["FollowModules"], 1, "not even an activity that is canceled before it begins")
	require.Equal(t, map[string]time.Duration{"m1": 20 * time.Second, "m2": 20 * time.Second, "m3": 20 * time.Second}, at)
	require.Equal(t, 2, reports, "one report after the installation, one when all are ready")
}

func TestLaterWatchesGatherNewsForLonger(t *testing.T) {
	minute := time.Minute
	w, env, at := fleetOf(t, 1*minute, 2*minute, 3*minute, 4*minute, 5*minute, 6*minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, at, 6)
	var gather []time.Duration
	for i, watch := range w.watches {
		gather = append(gather, watch.Gather)
		require.Len(t, watch.Modules, 6-i, "a settled module is no longer read")
	}
	const second = time.Second
	require.Equal(t, []time.Duration{2 * second, 4 * second, 8 * second, 16 * second, 16 * second, 16 * second}, gather)
}

func TestAKickForOneModuleLeavesTheOthersWatched(t *testing.T) {
	w, env, at := fleetOf(t, time.Minute, time.Minute)
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Manifest changed", Kind: "Manifest", Work: true, Namespace: "kcp-system", Name: "m1", UID: "uid-1", Urgent: true})
	}, 10*time.Second)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, [][]string{{"m1", "m2"}, {"m1"}}, w.names())
	require.Equal(t, 1, w.count("apply"))
	require.Equal(t, map[string]time.Duration{"m1": time.Minute, "m2": time.Minute}, at)
	require.Equal(t, 2, w.count("write Ready"), "the first activity's news of the kicked module does not count")
}

func TestAtMostFourActivitiesReadTheModulesOfAKyma(t *testing.T) {
	hour := time.Hour
	w, env, at := fleetOf(t, hour, hour, hour, hour, hour, hour)
	for i := range 6 {
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Manifest changed", Kind: "Manifest", Work: true, Namespace: "kcp-system", Name: fmt.Sprintf("m%d", i+1), UID: "uid-1", Urgent: true})
		}, time.Duration(i+1)*time.Minute)
	}
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, [][]string{{"m1", "m2", "m3", "m4", "m5", "m6"}, {"m1"}, {"m2"}, {"m3"}, {"m3", "m4"}, {"m3", "m4", "m5"}, {"m6"}}, w.names()[:7])
	require.Len(t, at, 6)
}

// A Kyma that waits for its cluster must not delay the states of modules.
func TestAModuleReportsByItselfWhileItsKymaIsAtWork(t *testing.T) {
	w, env, at := fleetOf(t, 20*time.Second)
	w.sync = func(n int) (syncing.Result, error) {
		if n == 2 {
			return syncing.Result{}, &fault.Error{Kind: fault.Transient, Reason: "Busy", Message: "try again", RetryAfter: 5 * time.Minute}
		}
		return synced()
	}
	kickAt(env, 10*time.Second, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, map[string]time.Duration{"m1": 20 * time.Second}, at)
}

// A report answers only kicks about Manifests. It must not take other kicks.
func TestAReportOfModulesTakesNoKickThatNeedsAReconcile(t *testing.T) {
	w, env, at := fleetOf(t, 20*time.Second)
	w.resolve = func(n int) (resolve.Result, error) {
		res, err := resolved()
		if n == 1 {
			res.Begin = []kick.Ref{{Namespace: "kcp-system", Name: "m1", UID: "uid-1"}}
		}
		return res, err
	}
	wait := w.wait
	w.wait = func(n int, in install.Followed) (readiness.Observed, error) {
		seen, err := wait(n, in)
		if err == nil {
			for range 2 { // the second one comes at the pace after the first
				env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate", Name: "sample", ResourceVersion: "7"})
			}
		}
		return seen, err
	}
	kickAt(env, 19500*time.Millisecond, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate", Name: "other"})
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, map[string]time.Duration{"m1": 20 * time.Second}, at)
	require.Equal(t, 3, w.count("resolve"), "the first, one for the earlier kick, one for the kicks that came with the news")
}

// News about an earlier state of a module says nothing about the current one.
func TestNewsOfAnEarlierStateOfAModuleDoesNotCount(t *testing.T) {
	w, env, at := fleetOf(t, time.Minute, time.Minute)
	const again = "applied again"
	w.applying = func(kick.Ref) (install.ApplyResult, error) {
		return install.ApplyResult{Outcome: manifests.OutcomeApplied, Module: "m1", Observed: readiness.Observed{State: shared.StateProcessing, Message: again}}, nil
	}
	began, wait := env.Now(), w.wait
	w.wait = func(n int, in install.Followed) (readiness.Observed, error) {
		if in.Reported.Message != again {
			return wait(n, in)
		}
		if left := 2*time.Minute - env.Now().Sub(began); left > 0 {
			return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: left}
		}
		return readiness.Observed{State: shared.StateReady}, nil
	}
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Manifest changed", Kind: "Manifest", Work: true, Namespace: "kcp-system", Name: "m1", UID: "uid-1", Urgent: true})
	}, 10*time.Second)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, map[string]time.Duration{"m1": 2 * time.Minute, "m2": time.Minute}, at)
	require.Equal(t, 2, w.count("write Ready"))
}
