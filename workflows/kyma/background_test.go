package kyma

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

var catalogChanged = kick.Kick{Reason: "ModuleReleaseMeta changed", Kind: "ModuleReleaseMeta", Name: "sample"}

// A new version for the whole fleet must not use up the workflow tasks that edits need.
func TestABackgroundReconcileTakesItsTurnInAQueue(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	c := recorded(env)
	kickAt(env, time.Hour, catalogChanged)
	kickAt(env, 2*time.Hour, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
	endKyma(env, w, 3*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "resolve", "report", "sync", "resolve", "report", "sync", "resolve", "report", "sync"}, w.calls)

	require.Len(t, c.activities["ReconcileInBackground"], 1)
	options := c.activities["ReconcileInBackground"][0]
	require.Equal(t, "lifecycle-manager-background", options.TaskQueue)
	require.Len(t, c.locals["SyncRemote"], 3, "the first reconcile, the one for the edit, and the one that finds the Kyma gone")
}

func TestAnEditEndsTheWaitOfItsKymaForATurn(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	wait := untilCancelled(env)
	w.turn = func(context.Context, int) error {
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Name: "demo", ResourceVersion: "77", Urgent: true})
		return wait()
	}
	c := recorded(env)
	kickAt(env, time.Hour, catalogChanged)
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "resolve", "report", "sync", "resolve", "report", "sync"}, w.calls,
		"one reconcile answers both")
	resolution, given := c.inputs["ResolveKyma"][1].(resolve.Input)
	require.True(t, given)
	require.Len(t, c.activities["ReconcileInBackground"], 1)
	require.False(t, resolution.Background)
	require.Contains(t, resolution.Seen, desired.Seen{Kind: "Kyma", Name: "demo", ResourceVersion: "77"})
}

// A Kyma shows the states of its modules even while it waits for its turn.
func TestAModulesStateIsShownWhileItsKymaWaitsForItsTurn(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	wait := untilCancelled(env)
	w.turn = func(_ context.Context, n int) error {
		if n > 1 {
			return nil
		}
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Manifest is Error", Kind: "Manifest", Name: "m", ResourceVersion: "78", Urgent: true})
		return wait()
	}
	var pushes []status.ReportInput
	w.report = func(_ int, in status.ReportInput) (status.ReportResult, error) {
		pushes = append(pushes, in)
		return reported(shared.StateReady)
	}
	kickAt(env, time.Hour, catalogChanged)
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "resolve", "report", "report", "sync", "resolve", "report", "sync"}, w.calls)
	require.Equal(t, 2, w.count("turn"))
	require.Contains(t, pushes[1].Seen, desired.Seen{Kind: "Manifest", Name: "m", ResourceVersion: "78"})
	require.Empty(t, pushes[1].InputsDigest, "the inputs were not read")
	require.NotEmpty(t, pushes[2].InputsDigest)
}

// A paced change reaches a Kyma as several kicks. The sweep also finds the Kyma outdated while it waits for its turn.
func TestAReconcileAnswersKicksThatCameWhileItWaitedForItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		began  time.Duration
		passes int
	}{
		"begins later than the kicks":     {2 * clockMargin, 1}, // only the report is repeated
		"may have begun before the kicks": {clockMargin / 2, 2},
		"does not say when it began":      {0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := quietFixture()
			env := environment(t, w)
			w.turn = func(_ context.Context, n int) error {
				if n == 1 {
					env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "ModuleReleaseMeta changed", Kind: "ModuleReleaseMeta", Name: "sample", ResourceVersion: "8"})
					time.Sleep(100 * time.Millisecond) // the workflow sees the kicks before the reconcile ends
					if c.began > 0 {
						w.began = env.Now().Add(c.began)
					}
				}
				return nil
			}
			var reports []status.ReportInput
			w.report = func(_ int, in status.ReportInput) (status.ReportResult, error) {
				reports = append(reports, in)
				return reported(shared.StateReady)
			}
			kickAt(env, time.Hour, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate", Name: "sample", ResourceVersion: "7"})
			endKyma(env, w, 2*time.Hour)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, c.passes, w.count("turn"))
			var latest []string
			for _, report := range reports[1:3] {
				latest = append(latest, report.Seen[len(report.Seen)-1].ResourceVersion)
			}
			require.Equal(t, []string{"7", "8"}, latest, "the report uses the versions that the kicks named")
		})
	}
}

func TestOneReportCoversAChangeOfModulesAndTheirReadiness(t *testing.T) {
	updated := resolve.Result{
		Outcome: resolve.OutcomeDone, InputsDigest: "inputs-2", Updated: []string{"m"},
		Wrote: []desired.Seen{{Kind: "Manifest", Namespace: "kcp-system", Name: "m", ResourceVersion: "80"}},
	}
	created := updated
	created.Updated, created.Created = nil, []string{"m"}
	for name, c := range map[string]struct {
		result  resolve.Result
		before  shared.State
		ready   bool // whether a module becomes ready after 2 s
		after   time.Duration
		reports int
		seen    string
	}{
		"the report follows when a module is ready":         {updated, shared.StateReady, true, 2 * time.Second, 1, "81"},
		"the report follows after a while if none is ready": {updated, shared.StateReady, false, reportPatience, 1, "80"},
		"new modules are reported at once":                  {created, shared.StateReady, true, 0, 2, "80"},
		"a Kyma that was not ready is reported at once":     {updated, shared.StateWarning, true, 0, 2, "80"},
	} {
		t.Run(name, func(t *testing.T) {
			w := quietFixture()
			env := environment(t, w)
			begins := env.Now().Add(time.Hour)
			w.resolve = func(n int) (resolve.Result, error) {
				if n != 2 {
					return resolved()
				}
				if c.ready {
					env.RegisterDelayedCallback(func() {
						env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Manifest is Ready", Kind: "Manifest", Namespace: "kcp-system", Name: "m", ResourceVersion: "81", Urgent: true})
					}, 2*time.Second)
				}
				return c.result, nil
			}
			var reports []status.ReportInput
			var at []time.Duration
			w.report = func(n int, in status.ReportInput) (status.ReportResult, error) {
				if n > 1 {
					reports, at = append(reports, in), append(at, env.Now().Sub(begins))
				}
				return reported(c.before)
			}
			kickAt(env, time.Hour, catalogChanged)
			endKyma(env, w, 2*time.Hour)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NoError(t, env.GetWorkflowError())
			require.Len(t, reports, c.reports)
			require.InDelta(t, c.after, at[0], float64(time.Second))
			require.Equal(t, "inputs-2", reports[0].InputsDigest)
			require.Contains(t, reports[0].Seen, desired.Seen{Kind: "Manifest", ResourceVersion: c.seen})
		})
	}
}

func TestAnOwedReportDoesNotWaitForTheTurnOfTheNextReconcile(t *testing.T) {
	w := quietFixture()
	w.resolve = func(n int) (resolve.Result, error) {
		res, err := resolved()
		if n == 2 {
			res.InputsDigest, res.Updated = "inputs-2", []string{"m"}
		}
		return res, err
	}
	var digests []string
	w.report = func(_ int, in status.ReportInput) (status.ReportResult, error) {
		digests = append(digests, in.InputsDigest)
		return reported(shared.StateReady)
	}
	env := environment(t, w)
	kickAt(env, time.Hour, catalogChanged)
	kickAt(env, time.Hour+time.Second, catalogChanged)
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "resolve", "report", "sync", "resolve", "report", "sync", "resolve", "report", "sync"}, w.calls)
	require.Equal(t, []string{"inputs-1", "inputs-2", "inputs-1"}, digests)
}

func TestAFailedBackgroundResolutionIsRetriedAsAStepOfItsOwn(t *testing.T) {
	w := quietFixture()
	w.resolve = func(n int) (resolve.Result, error) {
		if n == 2 {
			return resolve.Result{}, errors.New("conflict")
		}
		return resolved()
	}
	env := environment(t, w)
	c := recorded(env)
	kickAt(env, time.Hour, catalogChanged)
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "resolve", "report", "sync", "resolve", "resolve", "report", "sync"}, w.calls)
	require.Equal(t, resolve.Input{Ref: kymaRef, Seen: []desired.Seen{}, Background: true}, c.inputs["ResolveKyma"][1],
		"the Manifests that it writes still yield to other work")
}

// untilCancelled returns an activity that is canceled before it starts. The test environment does not end the context
// of an activity in that case: it only calls a listener.
func untilCancelled(env *testsuite.TestWorkflowEnvironment) func() error {
	cancelled := make(chan struct{})
	env.SetOnActivityCanceledListener(func(*activity.Info) { close(cancelled) })
	return func() error {
		select {
		case <-cancelled:
			return context.Canceled
		case <-time.After(10 * time.Second):
			return errors.New("was not canceled")
		}
	}
}
