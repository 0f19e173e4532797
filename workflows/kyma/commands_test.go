package kyma

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// commands records the commands of workflows.
type commands struct {
	interceptor.WorkerInterceptorBase
	// activities holds the options of each scheduled activity, by name and in order.
	activities map[string][]workflow.ActivityOptions
	// locals holds the options of each local activity.
	locals map[string][]workflow.LocalActivityOptions
	// late is true if every local activity takes too long.
	late bool
	// inputs holds the input of each activity, local or not.
	inputs map[string][]any
	// timers holds the summaries of all timers.
	timers []string
	// upserts counts upserts of search attributes. Each may change several attributes. upserted holds the last one.
	upserts  int
	upserted temporal.SearchAttributes
	// sideEffects counts recorded values. others lists commands that our workflows must not use.
	sideEffects int
	others      []string
	// first is the first command.
	first string
}

// recorded makes an environment record the commands of its workflows.
func recorded(env *testsuite.TestWorkflowEnvironment) *commands {
	c := &commands{
		activities: map[string][]workflow.ActivityOptions{}, locals: map[string][]workflow.LocalActivityOptions{}, inputs: map[string][]any{},
	}
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 30 * time.Second, Interceptors: []interceptor.WorkerInterceptor{c}})
	return c
}

func (c *commands) note(what string) {
	if c.first == "" {
		c.first = what
	}
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (c *commands) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	in := &recordedInbound{commands: c}
	in.Next = next
	return in
}

type recordedInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	commands *commands
}

func (r *recordedInbound) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	out := &recordedOutbound{commands: r.commands}
	out.Next = outbound
	return r.Next.Init(out)
}

type recordedOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	commands *commands
}

func (r *recordedOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	r.commands.note("activity " + name)
	r.commands.activities[name] = append(r.commands.activities[name], workflow.GetActivityOptions(ctx))
	r.commands.inputs[name] = append(r.commands.inputs[name], args...)
	return r.Next.ExecuteActivity(ctx, name, args...)
}

func (r *recordedOutbound) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	r.commands.note("local activity " + name)
	r.commands.locals[name] = append(r.commands.locals[name], workflow.GetLocalActivityOptions(ctx))
	r.commands.inputs[name] = append(r.commands.inputs[name], args...)
	if r.commands.late {
		future, set := workflow.NewFuture(ctx)
		set.SetError(temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil))
		return future
	}
	return r.Next.ExecuteLocalActivity(ctx, name, args...)
}

func (r *recordedOutbound) AwaitWithTimeout(ctx workflow.Context, timeout time.Duration, condition func() bool) (bool, error) {
	r.commands.timers = append(r.commands.timers, "")
	return r.Next.AwaitWithTimeout(ctx, timeout, condition)
}

func (r *recordedOutbound) AwaitWithOptions(ctx workflow.Context, options workflow.AwaitOptions, condition func() bool) (bool, error) {
	r.commands.timers = append(r.commands.timers, options.TimerOptions.Summary)
	return r.Next.AwaitWithOptions(ctx, options, condition)
}

func (r *recordedOutbound) NewTimer(ctx workflow.Context, d time.Duration) workflow.Future {
	r.commands.timers = append(r.commands.timers, "")
	return r.Next.NewTimer(ctx, d)
}

func (r *recordedOutbound) Sleep(ctx workflow.Context, d time.Duration) error {
	r.commands.timers = append(r.commands.timers, "")
	return r.Next.Sleep(ctx, d)
}

func (r *recordedOutbound) UpsertTypedSearchAttributes(ctx workflow.Context, attributes ...temporal.SearchAttributeUpdate) error {
	r.commands.upserts++
	r.commands.upserted = temporal.NewSearchAttributes(attributes...)
	return r.Next.UpsertTypedSearchAttributes(ctx, attributes...)
}

func (r *recordedOutbound) SideEffect(ctx workflow.Context, f func(ctx workflow.Context) any) converter.EncodedValue {
	r.commands.note("side effect")
	r.commands.sideEffects++
	return r.Next.SideEffect(ctx, f)
}

func (r *recordedOutbound) SignalExternalWorkflow(ctx workflow.Context, workflowID, runID, signalName string, arg any) workflow.Future {
	r.commands.others = append(r.commands.others, "signal to "+workflowID)
	return r.Next.SignalExternalWorkflow(ctx, workflowID, runID, signalName, arg)
}

func (r *recordedOutbound) ExecuteChildWorkflow(ctx workflow.Context, childWorkflowType string, args ...any) workflow.ChildWorkflowFuture {
	r.commands.others = append(r.commands.others, "child "+childWorkflowType)
	return r.Next.ExecuteChildWorkflow(ctx, childWorkflowType, args...)
}

func (r *recordedOutbound) RequestCancelExternalWorkflow(ctx workflow.Context, workflowID, runID string) workflow.Future {
	r.commands.others = append(r.commands.others, "cancellation of "+workflowID)
	return r.Next.RequestCancelExternalWorkflow(ctx, workflowID, runID)
}

// everyStep runs workflows through all of their steps, and returns the commands of each. If late is true, no local
// activity finishes in time.
func everyStep(t *testing.T, late bool) []*commands {
	t.Helper()
	var all []*commands
	ran := func(c *commands) {
		c.late = late
		all = append(all, c)
	}

	// A Kyma that is reconciled, kicked without a change, and deleted in order.
	w := deletingFixture(2)
	env := environment(t, w)
	ran(recorded(env))
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())

	w = quietFixture()
	env = environment(t, w)
	ran(recorded(env))
	kickAt(env, time.Hour, kick.Kick{Reason: "Manifest is Ready", Kind: "Manifest", Name: "m"})
	kickAt(env, 2*time.Hour, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
	kickAt(env, 2*time.Hour, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
	endKyma(env, w, 3*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())

	// A Kyma that is purged.
	deleted := newBlockedFixture(t)
	ran(recorded(deleted.env))
	deleted.purge = func(int, purge.Input) (purge.Result, error) {
		deleted.blocked = false
		return purge.Result{Outcome: manifests.OutcomeRemoved, Forced: 1}, nil
	}
	deleted.run(t)

	// A Manifest that is installed with a default custom resource, removed, and purged.
	w = quietFixture()
	w.wait = func(n int, _ install.Followed) (readiness.Observed, error) {
		if n == 1 {
			return readiness.Observed{State: shared.StateProcessing, DefaultCRWanted: true}, nil
		}
		return readiness.Observed{State: shared.StateReady}, nil
	}
	env = environment(t, w)
	ran(recorded(env))
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())

	w = waitingRemoval()
	env = environment(t, w)
	ran(recorded(env))
	purgeAt(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())

	w = quietFixture()
	w.apply = func(_ context.Context, n int) (install.ApplyResult, error) {
		if n == 1 {
			return install.ApplyResult{}, unreachable
		}
		return quietFixture().apply(context.Background(), n)
	}
	env = environment(t, w)
	ran(recorded(env))
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	return all
}

func activitiesOf(all []*commands) map[string][]workflow.ActivityOptions {
	merged := map[string][]workflow.ActivityOptions{}
	for _, c := range all {
		for name, options := range c.activities {
			merged[name] = append(merged[name], options...)
		}
	}
	return merged
}

// Activities that call remote clusters or registries never take a slot of the control plane's activities, and vice
// versa. A report runs in the queue of the cluster that its copy goes to.
func TestEveryActivityHasItsQueue(t *testing.T) {
	const controlPlane, remote, follow = "lifecycle-manager-control-plane", "lifecycle-manager-remote", "lifecycle-manager-follow"
	want := map[string][]string{
		"SyncRemote": {remote}, "CleanupRemote": {remote}, "CleanUpAndRelease": {remote}, "ReportKyma": {remote},
		"ResolveKyma": {controlPlane}, "DeleteManifests": {controlPlane}, "ReleaseKyma": {controlPlane}, "AdmitPurge": {controlPlane},
		"ReportManifest": {controlPlane},
		"ApplyManifest":  {remote}, "FollowModules": {follow}, "ReconcileInBackground": {"lifecycle-manager-background"}, "EnsureDefaultCR": {remote},
		"RemoveManifest": {remote}, "WaitRemoval": {follow}, "PurgeManifest": {remote},
	}
	got := map[string][]string{}
	for name, options := range activitiesOf(everyStep(t, true)) {
		for _, o := range options {
			if !slices.Contains(got[name], o.TaskQueue) {
				got[name] = append(got[name], o.TaskQueue)
			}
		}
	}
	// If there is no remote cluster, or the cluster does not answer, the control plane's workers write the report.
	require.Contains(t, got["ReportKyma"], remote)
	require.Subset(t, []string{remote, controlPlane}, got["ReportKyma"])
	got["ReportKyma"] = []string{remote}
	require.Equal(t, want, got)
}

func TestAReportThatIsNotCopiedNeedsNoSlotForRemoteClusters(t *testing.T) {
	w := quietFixture()
	w.sync = func(int) (res syncing.Result, err error) { return res, unreachable }
	env := environment(t, w)
	c := recorded(env)
	c.late = true
	endKyma(env, w, 24*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.NotEmpty(t, c.activities["ReportKyma"])
	for _, o := range c.activities["ReportKyma"] {
		require.Equal(t, "lifecycle-manager-control-plane", o.TaskQueue)
	}
}

func TestWritingActivitiesAreBoundedHeartbeatAndEndBeforeTheirSuccessor(t *testing.T) {
	steps := activitiesOf(everyStep(t, true))
	for _, name := range []string{"FollowModules", "WaitRemoval"} {
		require.Contains(t, steps, name)
		delete(steps, name)
	}
	require.Len(t, steps, 14, "writing activities: %v", slices.Sorted(maps.Keys(steps)))
	for name, options := range steps {
		for _, o := range options {
			require.LessOrEqual(t, o.StartToCloseTimeout, 2*time.Minute, name)
			require.Positive(t, o.StartToCloseTimeout, name)
			require.Positive(t, o.HeartbeatTimeout, name)
			require.LessOrEqual(t, o.HeartbeatTimeout, 30*time.Second, name)
			require.True(t, o.WaitForCancellation, "%s: otherwise a zombie could write during the next step", name)
			require.Zero(t, o.ScheduleToCloseTimeout, "%s: time in the queue must not fail a healthy module", name)
			require.Zero(t, o.ScheduleToStartTimeout, name)

			retry := o.RetryPolicy
			require.GreaterOrEqual(t, retry.MaximumAttempts, int32(3), name)
			total, pause := time.Duration(0), retry.InitialInterval
			for range retry.MaximumAttempts - 1 {
				total += pause
				pause = min(time.Duration(float64(pause)*retry.BackoffCoefficient), retry.MaximumInterval)
			}
			require.Positive(t, total, "%s: attempts must be bounded", name)
			require.LessOrEqual(t, total, 90*time.Second, "%s: then the workflow must decide", name)
		}
	}
}

// Retries of a wait write no history. A kick does not have to wait for the wait to end.
func TestAWaitIsBoundedAndRetriedUntilItsDeadline(t *testing.T) {
	steps := activitiesOf(everyStep(t, true))
	for _, name := range []string{"FollowModules", "WaitRemoval"} {
		require.NotEmpty(t, steps[name])
		for _, o := range steps[name] {
			require.LessOrEqual(t, o.StartToCloseTimeout, 30*time.Second, "%s: after this time the server notices a dead worker", name)
			require.LessOrEqual(t, o.ScheduleToCloseTimeout, time.Hour, "%s has a deadline", name)
			require.Positive(t, o.ScheduleToCloseTimeout, name)
			require.False(t, o.WaitForCancellation, name)
			require.Zero(t, o.RetryPolicy.MaximumAttempts, "%s: only the deadline must end it", name)
		}
	}
}

func TestEveryActivityAndTimerSaysWhatItIsFor(t *testing.T) {
	timers := 0
	for _, c := range everyStep(t, false) {
		for name, options := range c.activities {
			for _, o := range options {
				require.NotEmpty(t, o.Summary, name)
			}
		}
		for _, summary := range c.timers {
			timers++
			require.NotEmpty(t, summary)
		}
	}
	require.Greater(t, timers, 10)
}

// summaries returns the summaries of all steps for modules, in order.
func (c *commands) summaries() []string {
	var all []string
	for _, name := range []string{
		"InstallModules", "ApplyManifest", "EnsureDefaultCR", "FollowModules", "ReportManifest", "ReportModules", "RemoveManifest", "WaitRemoval", "PurgeManifest",
	} {
		for _, o := range c.locals[name] {
			all = append(all, o.Summary)
		}
		for _, o := range c.activities[name] {
			all = append(all, o.Summary)
		}
	}
	return all
}

// The history of a Kyma contains the steps of all its modules.
func TestTheSummaryOfAStepNamesItsModuleAndSaysWhyItIsTaken(t *testing.T) {
	w := waitingRemoval()
	w.beginning(manifestRef)
	w.apply = func(_ context.Context, n int) (install.ApplyResult, error) {
		if n == 2 {
			return install.ApplyResult{}, unreachable
		}
		return quietFixture().apply(context.Background(), n)
	}
	w.wait = func(n int, _ install.Followed) (readiness.Observed, error) {
		if n%2 == 0 { // so that the Kyma is resting when the module becomes ready
			return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: time.Minute}
		}
		return readiness.Observed{State: shared.StateReady, DefaultCRWanted: n == 1}, nil
	}
	env := environment(t, w)
	c := recorded(env)
	kickAt(env, time.Hour, forModule(kick.Kick{Reason: "objects differ"}))
	kickAt(env, 2*time.Hour, forModule(kick.Kick{Reason: "Manifest is being deleted", Urgent: true, Deleting: true}))
	env.RegisterDelayedCallback(func() { w.sync = goneLeaving(manifestRef) }, 3*time.Hour)
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(kick.UpdatePurge, "u1", &updateAnswer{}) }, 3*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{
		"install or upgrade demo-sample-1",
		"install or upgrade demo-sample-1: Manifest changed",
		"install or upgrade demo-sample-1: objects differ",
		"install or upgrade demo-sample-1: again after UnreachableNetwork",
		"create the default custom resource of sample: Manifest changed",
		"wait for sample",
		"report that demo-sample-1 is Processing: objects differ",
		"report that demo-sample-1 is Deleting: Manifest is being deleted",
		"report sample, and aggregate the status, also in the remote cluster",
		"remove demo-sample-1: Manifest is being deleted",
		"wait for the removal of demo-sample-1: Manifest is being deleted",
		"force what remains of demo-sample-1: a purge was requested",
	}, slices.Compact(c.summaries()), "a module that has settled is known by its Manifest again")
	require.Contains(t, c.timers, "demo-sample-1: the next attempt: UnreachableNetwork")
}

// The server drops a signal that a workflow sends in the task in which it completes, without an error. So the
// activity that writes a status sends the signal afterwards, with a client.
func TestWorkflowsSendNoSignals(t *testing.T) {
	for _, c := range everyStep(t, false) {
		require.Empty(t, c.others)
	}
}

func TestEveryRunRecordsTheVersionOfItsLogicFirst(t *testing.T) {
	for _, c := range everyStep(t, false) {
		require.Equal(t, 1, c.sideEffects)
		require.Equal(t, "side effect", c.first)
	}
}

func TestSearchAttributesAreUpsertedOnChangeOnly(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	c := recorded(env)
	for i := range 20 {
		kickAt(env, time.Duration(i+1)*time.Hour, kick.Kick{Reason: "Manifest is Ready", Kind: "Manifest", Name: "m"})
	}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.SignalContinueAsNew, nil) }, 30*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())
	require.Equal(t, 21, w.count("report"))
	require.Equal(t, 1, c.upserts)

	// Search attributes stay with the workflow from run to run.
	second := quietFixture()
	env = environment(t, second)
	c = recorded(env)
	kickAt(env, time.Hour, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
	endKyma(env, second, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, next)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, second.count("report"))
	require.Zero(t, c.upserts)
}

func TestSearchAttributesFromTheStartAreNotUpsertedAgain(t *testing.T) {
	state := temporal.NewSearchAttributeKeyKeyword("KymaState")
	start := func(attributes ...temporal.SearchAttributeUpdate) *commands {
		w := quietFixture()
		env := environment(t, w)
		c := recorded(env)
		require.NoError(t, env.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(attributes...)))
		endKyma(env, w, time.Hour)
		env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
		require.NoError(t, env.GetWorkflowError())
		require.Equal(t, 1, c.upserts)
		return c
	}
	keyword := func(name, value string) temporal.SearchAttributeUpdate {
		return temporal.NewSearchAttributeKeyKeyword(name).ValueSet(value)
	}
	c := start(keyword("KymaName", "demo"), keyword("KymaChannel", "regular"), keyword("RemoteCluster", "cluster-uid"), keyword("KymaState", "Processing"))
	require.Equal(t, temporal.NewSearchAttributes(state.ValueSet("Ready")), c.upserted)
	require.Equal(t, 4, start().upserted.Size(), "a server that does not know the attributes starts the workflow without them")
}

func TestFailingModulesAreFoundBySearches(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	c := recorded(env)
	list := temporal.NewSearchAttributeKeyKeywordList("FailingModules")
	var searched []temporal.SearchAttributes
	failing := [][]string{{"b", "a"}, {"a", "b"}, {"b"}, {}}
	w.report = func(n int, _ status.ReportInput) (status.ReportResult, error) {
		searched = append(searched, c.upserted)
		res, err := reported(shared.StateError)
		res.Modules = []status.Module{{Name: "fine", State: shared.StateReady}}
		for _, name := range failing[n-1] {
			res.Modules = append(res.Modules, status.Module{Name: name, State: shared.StateError})
		}
		return res, err
	}
	for i := range failing[1:] {
		kickAt(env, time.Duration(i+1)*time.Hour, kick.Kick{Reason: "Manifest is Error", Kind: "Manifest", Name: "m"})
	}
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.SignalContinueAsNew, nil) }, 10*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	continued(t, env.GetWorkflowError())
	found, _ := searched[1].GetKeywordList(list)
	require.Equal(t, []string{"a", "b"}, found)
	require.Equal(t, temporal.NewSearchAttributes(list.ValueSet([]string{"b"})), searched[3], "only the failing modules have changed")
	require.Equal(t, temporal.NewSearchAttributes(list.ValueUnset()), c.upserted)
	require.Equal(t, 3, c.upserts, "another order of the same modules is no change")
}

// A kick costs a signal and its workflow task. A new timer for each kick would double that.
func TestKicksThatHaveToWaitDoNotRestartTheTimer(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	timers := 0
	env.SetOnTimerScheduledListener(func(string, time.Duration) { timers++ })
	later := env.Now().Add(10 * time.Hour)
	for i := range 50 {
		kickAt(env, time.Hour+time.Duration(i)*time.Second, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate", NotBefore: &later})
	}
	env.RegisterDelayedCallback(func() { require.LessOrEqual(t, timers, 2) }, 9*time.Hour)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("sync")) }, 11*time.Hour)
	endKyma(env, w, 12*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

// If the cache of an activity is older than the version that a kick named, the activity reads the live object.
func TestActivitiesGetTheVersionsThatKicksNamed(t *testing.T) {
	w := quietFixture()
	w.sync = func(int) (syncing.Result, error) {
		res, err := synced()
		res.Imported = []desired.Seen{{Kind: "ModuleTemplate", Namespace: "ns", Name: "by-hand", ResourceVersion: "3"}}
		return res, err
	}
	env := environment(t, w)
	c := recorded(env)
	kickAt(env, time.Hour, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate", Namespace: "ns", Name: "t", ResourceVersion: "7", Urgent: true})
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, c.inputs["ResolveKyma"], 2)
	require.Equal(t, resolve.Input{Ref: kymaRef, Seen: []desired.Seen{
		{Kind: "ModuleTemplate", Namespace: "ns", Name: "t", ResourceVersion: "7"},
		{Kind: "ModuleTemplate", Namespace: "ns", Name: "by-hand", ResourceVersion: "3"},
	}}, c.inputs["ResolveKyma"][1])
}

// Clusters that wait for the same time must not all return at the same moment.
func TestLongWaitsAreSpreadOverTheFleet(t *testing.T) {
	waits := map[string]func(start time.Time) (w *fixture, second func() bool){
		"a backoff": func(time.Time) (*fixture, func() bool) {
			w := quietFixture()
			w.sync = func(int) (syncing.Result, error) { return syncing.Result{}, unreachable }
			return w, func() bool { return w.count("sync") == 2 }
		},
		"a maintenance window": func(start time.Time) (*fixture, func() bool) {
			w := waitingFixture(start.Add(time.Minute))
			return w, func() bool { return w.count("resolve") == 2 }
		},
		"a removal": func(time.Time) (*fixture, func() bool) {
			w := deletingFixture(1 << 30)
			return w, func() bool { return w.count("delete") == 2 }
		},
	}
	for name, wait := range waits {
		moments := map[time.Duration]bool{}
		for _, id := range []string{"kyma/ns/a/1", "kyma/ns/b/2", "kyma/ns/c/3", "kyma/ns/d/4", "kyma/ns/e/5"} {
			env := environment(t, quietFixture())
			start := env.Now()
			w, second := wait(start)
			env = environment(t, w)
			env.SetStartTime(start)
			env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id})
			at := time.Duration(0)
			for tick := time.Second / 4; tick < 3*time.Minute; tick += time.Second / 4 {
				env.RegisterDelayedCallback(func() {
					if at == 0 && second() {
						at = env.Now().Sub(start)
					}
				}, tick)
			}
			// Whether the Kyma is under deletion or not, it is gone in the end.
			env.RegisterDelayedCallback(env.CancelWorkflow, 4*time.Minute)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NotZero(t, at, name)
			moments[at] = true
		}
		require.Greater(t, len(moments), 2, "%s: %v", name, moments)
	}
}
