package kyma

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

// pacedKick is a kick for a change of the catalog that has its turn at a given time.
func pacedKick(at time.Time) kick.Kick {
	return kick.Kick{Reason: "ModuleReleaseMeta changed", Kind: "ModuleReleaseMeta", Name: "m", ResourceVersion: "7", NotBefore: &at}
}

func TestWhatEndsTheWaitOfAPacedKick(t *testing.T) {
	aboutManifest := kick.Kick{Reason: "state changed", Kind: "Manifest", Name: "m"}
	for name, tc := range map[string]struct {
		kick       kick.Kick
		reconciles int
	}{
		"not a Manifest's state":                           {aboutManifest, 1},
		"not a Manifest that settled":                      {kick.Kick{Reason: "settled", Kind: "Manifest", Name: "m", Urgent: true}, 1},
		"not a sweep that finds the same change":           {pacedKick(time.Time{}), 1},
		"a change of the Kyma itself":                      {kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true}, 2},
		"a change of its access, which is not paced":       {kick.Kick{Reason: "Secret changed", Kind: "Secret", Name: "s"}, 2},
		"a requested reconcile, for example by the update": {kick.Kick{Reason: "reconcile requested", Urgent: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := quietFixture()
			env := environment(t, w)
			start := env.Now()
			if tc.kick.NotBefore != nil {
				at := start.Add(3 * time.Hour)
				tc.kick.NotBefore = &at
			}
			kickAt(env, time.Minute, pacedKick(start.Add(2*time.Hour)))
			kickAt(env, 10*time.Minute, tc.kick)
			env.RegisterDelayedCallback(func() {
				require.Equal(t, tc.reconciles, w.count("resolve"), "resolutions before the turn")
				if tc.kick.Kind == "Manifest" {
					require.Equal(t, 2, w.count("report"), "the Manifest's state is in the status at once")
					require.Contains(t, workflowtest.ViewOf(t, env).WaitingFor, "its turn at ")
				}
			}, 2*time.Hour-time.Minute)
			env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("resolve")) }, 2*time.Hour+time.Minute)
			endKyma(env, w, 4*time.Hour)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NoError(t, env.GetWorkflowError())
		})
	}
}

func TestAReportThatFindsAPacedChangeWaitsForTheKymasTurn(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	turn := env.Now().Add(2 * time.Hour)
	w.report = func(n int, in status.ReportInput) (status.ReportResult, error) {
		res, err := reported(shared.StateReady)
		res.NeedsReconcile = n > 1 && n < 5 && in.InputsDigest == ""
		if res.NeedsReconcile && !in.ManifestGone {
			res.ReconcileAt = turn
		}
		return res, err
	}
	kickAt(env, time.Minute, kick.Kick{Reason: "state changed", Kind: "Manifest", Name: "m"})
	kickAt(env, time.Hour, kick.Kick{Reason: "state changed", Kind: "Manifest", Name: "m"})
	env.RegisterDelayedCallback(func() { require.Equal(t, 1, w.count("resolve")) }, 2*time.Hour-time.Minute)
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("resolve")) }, 2*time.Hour+time.Minute)
	endKyma(env, w, 4*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestAManifestThatIsGoneIsCreatedAgainDuringAPacedChange(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	turn := env.Now().Add(2 * time.Hour)
	w.report = func(_ int, in status.ReportInput) (status.ReportResult, error) {
		res, err := reported(shared.StateReady)
		res.NeedsReconcile = in.InputsDigest == ""
		if res.NeedsReconcile && !in.ManifestGone {
			res.ReconcileAt = turn
		}
		return res, err
	}
	kickAt(env, time.Minute, kick.Kick{Reason: "Manifest is gone", Kind: "Manifest", Name: "m", Urgent: true, Gone: true})
	env.RegisterDelayedCallback(func() { require.Equal(t, 2, w.count("resolve")) }, 10*time.Minute)
	endKyma(env, w, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
}

func TestTheWaitOfAPacedKickIsCarriedToTheNextRun(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	turn := env.Now().Add(2 * time.Hour)
	kickAt(env, time.Minute, pacedKick(turn))
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.SignalContinueAsNew, nil) }, time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	next := continued(t, env.GetWorkflowError())
	require.Zero(t, next.Carry.Pending.Count)
	require.Equal(t, 1, next.Carry.Later.Count)

	second := quietFixture()
	env = environment(t, second)
	env.SetStartTime(turn.Add(-time.Hour))
	kickAt(env, time.Minute, kick.Kick{Reason: "state changed", Kind: "Manifest", Name: "m"})
	env.RegisterDelayedCallback(func() { require.Zero(t, second.count("resolve")) }, 59*time.Minute)
	env.RegisterDelayedCallback(func() { require.Equal(t, 1, second.count("resolve")) }, 61*time.Minute)
	endKyma(env, second, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, next)
	require.NoError(t, env.GetWorkflowError())
}
