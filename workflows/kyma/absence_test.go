package kyma

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Events of history per command, including the following workflow task
// (docs/design/workflows-and-signals.md#budgets).
const (
	eventsOfActivity = 6
	eventsOfTimer    = 5
	eventsOfSignal   = 4
	eventsOfStart    = 5
)

// eventCount counts the events that a workflow writes into its history. The test environment keeps no history, so
// each command counts with its cost on a server.
type eventCount struct{ activities, timers int }

func countEvents(env *testsuite.TestWorkflowEnvironment) *eventCount {
	count := &eventCount{}
	env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) { count.activities++ })
	env.SetOnTimerScheduledListener(func(string, time.Duration) { count.timers++ })
	return count
}

func (c *eventCount) events(signals int) int {
	return c.activities*eventsOfActivity + c.timers*eventsOfTimer + signals*eventsOfSignal
}

const month = 30 * 24 * time.Hour

// The budget of a month's absence covers a Kyma, and a module whose installation was interrupted by the absence.
func TestAMonthOfAbsenceWritesAlmostNoHistory(t *testing.T) {
	for _, gone := range []error{
		fault.New(fault.Unreachable, clusters.ReasonUnreachableNetwork, "connection refused"),
		fault.New(fault.Unreachable, clusters.ReasonUnreachableUnauthorized, "401"),
	} {
		t.Run(fault.Of(gone).Reason, func(t *testing.T) {
			ofKyma, ofManifest := kymaThroughAbsence(t, gone), manifestThroughAbsence(t, gone)
			t.Logf("events of a month's absence: Kyma %d, interrupted installation of a Manifest %d", ofKyma, ofManifest)
			require.Less(t, ofKyma+ofManifest, 200)
		})
	}
}

// kymaThroughAbsence counts the events of a Kyma's workflow from the sweep's kick for the unreachable cluster to the
// end of the reconcile that reaches the cluster again. The sweep's probes in between kick no workflow (tested in
// package activities/sweep).
func kymaThroughAbsence(t *testing.T, gone error) int {
	t.Helper()
	w := quietFixture()
	env := environment(t, w)
	count := countEvents(env)
	before, after := 0, 0
	env.RegisterDelayedCallback(func() {
		before = count.events(0)
		w.sync = func(int) (syncing.Result, error) { return syncing.Result{}, gone }
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "the remote cluster cannot be reached"})
	}, time.Hour)
	env.RegisterDelayedCallback(func() {
		w.sync = func(int) (syncing.Result, error) { return synced() }
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "the remote cluster can be reached again"})
	}, time.Hour+month)
	env.RegisterDelayedCallback(func() { after = count.events(2) }, 2*time.Hour+month)
	endKyma(env, w, 3*time.Hour+month)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	return after - before
}

// manifestThroughAbsence counts the events of the run that ends by leaving the Manifest to the sweep.
func manifestThroughAbsence(t *testing.T, gone error) int {
	t.Helper()
	w := quietFixture()
	w.apply = func(context.Context, int) (install.ApplyResult, error) { return install.ApplyResult{}, gone }
	env := environment(t, w)
	count := countEvents(env)
	workOnModule(env, w)
	require.NoError(t, env.GetWorkflowError())
	return count.events(0) + eventsOfStart
}
