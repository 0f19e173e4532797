package kyma

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

func TestAKymaContinuesAsNewWhenTheServerSuggestsIt(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		env.SetContinueAsNewSuggested(true)
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
	}, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())
	require.Equal(t, 1, next.Carry.Pending.Count, "it acts in the next run")
}

// A run with more than about a thousand events that wakes continues as new before it acts. If it acted first, a
// signal in the meantime would make the server execute its local activities again.
func TestARunWithALongHistoryContinuesAsNewBeforeItActs(t *testing.T) {
	for length, continues := range map[int]bool{900: false, 1100: true} {
		t.Run(fmt.Sprintf("%d events", length), func(t *testing.T) {
			w := quietFixture()
			env := environment(t, w)
			env.RegisterDelayedCallback(func() {
				env.SetCurrentHistoryLength(length)
				env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
			}, time.Hour)
			endKyma(env, w, 2*time.Hour)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			if !continues {
				require.NoError(t, env.GetWorkflowError())
				require.Greater(t, w.count("sync"), 1)
				return
			}
			require.Equal(t, 1, continued(t, env.GetWorkflowError()).Carry.Pending.Count, "the kick is carried")
			require.Equal(t, 1, w.count("sync"))
		})
	}
}

func TestARunContinuesAsNewInATaskInWhichNoLocalActivityRan(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	var timers []time.Duration
	env.SetOnTimerScheduledListener(func(_ string, wait time.Duration) { timers = append(timers, wait) })
	w.report = func(int, status.ReportInput) (status.ReportResult, error) {
		env.SetContinueAsNewSuggested(true)
		return reported(shared.StateReady)
	}
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	continued(t, env.GetWorkflowError())
	require.Equal(t, wholeReconcile, w.calls)
	require.Equal(t, []time.Duration{time.Millisecond}, timers)
}

// The run that accepted an update must answer it. The next run does not know the update.
func TestARunThatShouldContinueAsNewAnswersItsUpdateFirst(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	answer := &updateAnswer{}
	env.RegisterDelayedCallback(func() {
		env.SetContinueAsNewSuggested(true)
		env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer)
	}, time.Hour)
	kickAt(env, 2*time.Hour, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	continued(t, env.GetWorkflowError())
	require.NoError(t, answer.err)
	require.True(t, answer.result.Completed)
	require.Equal(t, 2, w.count("sync"))
}

// ofEarlierBuild makes another build begin the workflow of a Kyma.
func ofEarlierBuild(env *testsuite.TestWorkflowEnvironment) string {
	const kyma = "Kyma of an earlier build"
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, in Input) error {
		r := newRun(ctx, in)
		r.Build = "earlier"
		return r.run(ctx)
	}, workflow.RegisterOptions{Name: kyma})
	return kyma
}

// A sleeping run keeps the logic that it began with, so it continues as new before it acts. A new build wakes no run:
// a release must not wake the fleet.
func TestAKymaThatWakesUnderANewBuildContinuesAsNewBeforeItActs(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	name := ofEarlierBuild(env)
	env.RegisterDelayedCallback(func() { require.Equal(t, "waiting", workflowtest.ViewOf(t, env).Doing) }, 100*time.Hour)
	kickAt(env, 101*time.Hour, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
	env.ExecuteWorkflow(name, Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())
	require.Equal(t, wholeReconcile, w.calls, "only the first reconcile")
	require.Equal(t, 1, next.Carry.Pending.Count, "the kick is carried")
}

func TestAModuleThatWakesUnderANewBuildContinuesAsNewBeforeItActs(t *testing.T) {
	w := quietFixture()
	w.wait = func(int, install.Followed) (readiness.Observed, error) {
		return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: 30 * time.Second}
	}
	w.resolve = func(n int) (resolve.Result, error) {
		res, err := resolved()
		if n == 1 {
			res.Begin = []kick.Ref{manifestRef}
		}
		return res, err
	}
	env := environment(t, w)
	name := ofEarlierBuild(env)
	kickAt(env, time.Hour, forModule(kick.Kick{Reason: "Manifest changed", Urgent: true}))
	env.ExecuteWorkflow(name, Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())
	require.Zero(t, w.count("apply"), "the next run takes even the first step")
	require.Len(t, next.Carry.Modules, 1)
	require.Equal(t, 1, next.Carry.Modules[0].Pending.Count, "the kick is carried")
}

// During a rolling update, the build that began a run may get its tasks again after a module has started to wait for
// the next run.
func TestARunEndsForAWaitingModuleEvenUnderTheBuildThatBeganIt(t *testing.T) {
	w := quietFixture()
	w.sync = func(n int) (syncing.Result, error) {
		if n == 2 {
			return syncing.Result{}, &fault.Error{Kind: fault.Transient, Message: "busy", RetryAfter: 20 * time.Second}
		}
		return synced()
	}
	env := environment(t, w)
	var r *run
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, in Input) error {
		r = newRun(ctx, in)
		return r.run(ctx)
	}, workflow.RegisterOptions{Name: "Kyma"})
	kickAt(env, time.Hour, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
	var own string
	env.RegisterDelayedCallback(func() {
		own, r.Build = r.Build, "earlier"
		kickModule(env, kick.Kick{Reason: "Manifest changed", Urgent: true})
	}, time.Hour+5*time.Second)
	env.RegisterDelayedCallback(func() { r.Build = own }, time.Hour+10*time.Second)
	env.ExecuteWorkflow("Kyma", Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())
	require.Zero(t, w.count("apply"))
	require.Equal(t, 1, next.Carry.Modules[0].Pending.Count, "the kick is carried")
}

// A module waits for the next run, but this run still has to answer an update. The run must neither end first nor
// loop without progress.
func TestARunAnswersItsUpdateBeforeItEndsForAWaitingModule(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	name := ofEarlierBuild(env)
	answer := &updateAnswer{}
	w.sync = func(n int) (syncing.Result, error) {
		if n == 1 {
			kickModule(env, kick.Kick{Reason: "Manifest changed", Urgent: true})
			env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer)
		}
		return synced()
	}
	env.ExecuteWorkflow(name, Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())
	require.NoError(t, answer.err)
	require.True(t, answer.result.Completed)
	require.Zero(t, w.count("apply"))
	require.Len(t, next.Carry.Modules, 1)
}

func TestAnUpdateThatWakesARunUnderANewBuildIsAnsweredByIt(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	name := ofEarlierBuild(env)
	answer := &updateAnswer{}
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(kick.UpdateReconcile, "u1", answer) }, time.Hour)
	env.RegisterDelayedCallback(func() {
		require.NoError(t, answer.err)
		require.True(t, answer.result.Completed)
	}, time.Hour+time.Minute)
	kickAt(env, 2*time.Hour, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
	env.ExecuteWorkflow(name, Input{Ref: kymaRef})
	continued(t, env.GetWorkflowError())
	require.Equal(t, 2, w.count("sync"))
}

func TestTheDetailsOfASleepingRunAreKeptInTheNextRun(t *testing.T) {
	w := quietFixture()
	w.report = func(int, status.ReportInput) (status.ReportResult, error) {
		res, err := reported(shared.StateReady)
		res.Modules = []status.Module{{Name: "keda", Version: "1.2.3", State: shared.StateReady}}
		return res, err
	}
	env := environment(t, w)
	env.RegisterDelayedCallback(func() {
		require.Contains(t, workflowtest.DetailsOf(t, env), "| keda | 1.2.3 | Ready |")
		require.Regexp(t, `\nWaiting since 20\S+Z for a change\. Temporal shows waiting workflows as Running\.\n`, workflowtest.DetailsOf(t, env))
	}, time.Minute)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.SignalContinueAsNew, nil) }, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())

	second := quietFixture()
	env = environment(t, second)
	env.RegisterDelayedCallback(func() {
		require.Contains(t, workflowtest.DetailsOf(t, env), "| keda | 1.2.3 | Ready |")
		require.Regexp(t, `^kcp-system/demo\n`, workflowtest.DetailsOf(t, env))
	}, time.Minute)
	endKyma(env, second, time.Hour)
	env.ExecuteWorkflow(Workflow, next)
	require.NoError(t, env.GetWorkflowError())
}

func TestTheDetailsOfAModuleBeingFollowedAreShown(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	w.wait = func(n int, _ install.Followed) (readiness.Observed, error) {
		if n < 10 {
			return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: 10 * time.Second}
		}
		return readiness.Observed{State: shared.StateReady}, nil
	}
	env.RegisterDelayedCallback(func() {
		require.Contains(t, workflowtest.DetailsOf(t, env), "| sample | 1.0.0 | Processing |")
		require.Contains(t, workflowtest.DetailsOf(t, env), "| waits for the module to become ready since ")
	}, 15*time.Second)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
}

// The next run keeps the waits of this one. So a fleet that failed together does not return at once, and backoffs do
// not start over.
func TestPaceAndFailedAttemptsAreCarried(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	w.sync = func(int) (syncing.Result, error) { return syncing.Result{}, fault.New(fault.Transient, "Busy", "busy") }
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.SignalContinueAsNew, nil) }, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())
	require.Greater(t, next.Carry.Attempt, 2)
	require.NotZero(t, next.Carry.RetryAt)
	require.NotZero(t, next.Carry.Pace.Until)
}
