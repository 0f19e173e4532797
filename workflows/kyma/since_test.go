package kyma

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// The start time of a latency metric must survive failures, and must not be used twice.
func TestTheTimeOfAChangeIsPassedOnUntilItIsApplied(t *testing.T) {
	w := quietFixture()
	w.apply = func(_ context.Context, n int) (install.ApplyResult, error) {
		if n <= 5 {
			return install.ApplyResult{}, fault.New(fault.Transient, "Conflict", "again")
		}
		return install.ApplyResult{Outcome: manifests.OutcomeApplied, Observed: readiness.Observed{State: shared.StateProcessing}}, nil
	}
	w.wait = func(n int, _ install.Followed) (readiness.Observed, error) {
		if n == 1 {
			return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Reason: "NotReady", Message: "not ready", RetryAfter: time.Hour}
		}
		return readiness.Observed{State: shared.StateReady}, nil
	}
	env := environment(t, w)
	seen := env.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
	kickAt(env, 10*time.Minute, forModule(kick.Kick{Reason: "the module drifted"}))
	var changed ModuleCarry
	changed.Pending.Add(forModule(kick.Kick{Reason: "Manifest changed", Urgent: true}.SeenAt(seen)))
	workFrom(env, w, changed)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, w.since, 7)
	for i, since := range w.since[:6] {
		require.Equal(t, seen, since, "attempt %d", i)
	}
	require.Zero(t, w.since[6], "an applied change is not measured again")
}

func TestTheResolutionAfterAKymaChangeGetsTheTimeOfTheChange(t *testing.T) {
	w := quietFixture()
	w.resolve = func(n int) (resolve.Result, error) {
		if n <= 5 {
			return resolve.Result{}, fault.New(fault.Transient, "Conflict", "again")
		}
		return resolved()
	}
	env := environment(t, w)
	seen := env.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
	kickAt(env, 0, kick.Kick{Reason: "Kyma changed", Urgent: true}.SeenAt(seen))
	kickAt(env, time.Hour, kick.Kick{Reason: "inputs differ", Urgent: true})
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.Equal(t, seen, w.since[0])
	require.Zero(t, w.since[len(w.since)-1])
}
