package workflows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

var catalogChanged = kick.Kick{Reason: "ModuleReleaseMeta changed", Kind: "ModuleReleaseMeta", Name: "sample"}

// A new version for the whole fleet must not fill the workflow tasks that edits need.
func TestALookThatNobodyWaitsForTakesItsTurnInAQueue(t *testing.T) {
	w := quietWorld()
	env := environment(t, w)
	c := recorded(env)
	kickAt(env, time.Hour, catalogChanged)
	kickAt(env, 2*time.Hour, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
	endKyma(env, w, 3*time.Hour)
	env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "resolve", "report", "sync", "resolve", "report", "sync", "resolve", "report", "sync"}, w.calls)

	require.Len(t, c.activities["LookInBackground"], 1)
	options := c.activities["LookInBackground"][0]
	require.Equal(t, "lifecycle-manager-background", options.TaskQueue)
	require.Len(t, c.locals["SyncRemote"], 2, "that for the edit, and that which finds the Kyma gone")
}

func TestAnEditOvertakesTheTurnOfItsOwnKyma(t *testing.T) {
	w := quietWorld()
	env := environment(t, w)
	w.turn = func(ctx context.Context, _ int) error {
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Name: "demo", ResourceVersion: "77", Urgent: true})
		return untilCancelled(ctx)
	}
	c := recorded(env)
	kickAt(env, time.Hour, catalogChanged)
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "resolve", "report", "sync", "resolve", "report", "sync"}, w.calls,
		"one look answers both")
	resolution, given := c.inputs["ResolveKyma"][1].(resolve.Input)
	require.True(t, given)
	require.Len(t, c.activities["LookInBackground"], 1)
	require.False(t, resolution.Background)
	require.Contains(t, resolution.Seen, resolve.Version{Kind: "Kyma", Name: "demo", ResourceVersion: "77"})
}

// The states of modules are shown also while a Kyma waits for its turn.
func TestAModulesStateIsShownWhileItsKymaWaitsForItsTurn(t *testing.T) {
	w := quietWorld()
	env := environment(t, w)
	w.turn = func(ctx context.Context, n int) error {
		if n > 1 {
			return nil
		}
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Manifest is Error", Kind: "Manifest", Name: "m", ResourceVersion: "78", Urgent: true})
		return untilCancelled(ctx)
	}
	var pushes []status.ReportInput
	w.report = func(_ int, in status.ReportInput) (status.ReportResult, error) {
		pushes = append(pushes, in)
		return reported(shared.StateReady)
	}
	kickAt(env, time.Hour, catalogChanged)
	endKyma(env, w, 2*time.Hour)
	env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "resolve", "report", "report", "sync", "resolve", "report", "sync"}, w.calls)
	require.Equal(t, 2, w.counts["turn"])
	require.Contains(t, pushes[1].Seen, resolve.Version{Kind: "Manifest", Name: "m", ResourceVersion: "78"})
	require.Empty(t, pushes[1].InputsDigest, "the inputs were not looked at")
	require.NotEmpty(t, pushes[2].InputsDigest)
}

func TestAResolutionThatFailsInTheBackgroundIsTriedByItself(t *testing.T) {
	w := quietWorld()
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
	env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"sync", "resolve", "report", "sync", "resolve", "resolve", "report", "sync"}, w.calls)
	require.Equal(t, resolve.Input{Ref: kymaRef, Seen: []resolve.Version{}, Background: true}, c.inputs["ResolveKyma"][1],
		"what it writes still makes way for others")
}

// untilCancelled waits as an activity does that is not begun before it is cancelled.
func untilCancelled(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Second):
		return errors.New("was not cancelled")
	}
}
