package kyma

import (
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// purgeAttempts is how often a purge may fail before the Manifest is released without its cluster. One short failure
// must not abandon a module in a cluster that exists.
const purgeAttempts = 2

// purgeRounds is how often a purge that makes progress may continue before it counts as failing. Another client may
// create objects as fast as the purge removes them.
const purgeRounds = 60

// purge forces the removal of the module and releases the Manifest.
func (m *moduleRun) purge(ctx workflow.Context) error {
	_, started := m.Start(ctx)
	m.does(ctx, "purging the module")
	if !m.state.Purging {
		// Earlier failures of other steps must not delay the purge's retries.
		m.Attempt = 0
	}
	m.state.Deleting, m.state.Purging = true, true
	release := m.state.PurgeAttempts >= purgeAttempts
	summary := "force what remains of " + m.name()
	if release {
		summary += ", or release it"
	}
	var res purge.Result
	err := workflow.ExecuteActivity(attempts.Writing(ctx, kick.RemoteQueue, m.Why(summary)),
		m.purges.PurgeManifest, purge.Input{Ref: m.Ref, Abandon: release}).Get(ctx, &res)
	if temporal.IsCanceledError(err) {
		return err
	}
	if err == nil && res.Outcome == manifests.OutcomeWaiting {
		m.purgeStopped(ctx, started, res)
		return nil
	}
	if err != nil {
		// A purge must end whatever the fault is. The next attempt may release the Manifest.
		m.state.PurgeAttempts++
		f := fault.FromTemporal(err)
		f.Kind = fault.Transient
		m.state.Phase = phaseRest
		m.End(ctx, started, f)
		return nil
	}
	if res.Outcome == manifests.OutcomeApplied {
		// Neither the Manifest nor its Kyma is being deleted.
		m.state.Phase, m.state.Deleting, m.state.Purging, m.state.PurgeAttempts = phaseReconcile, false, false, 0
		m.state.PurgeRounds = 0
	} else {
		m.state.Phase = phaseEnded
		m.forced(res)
		m.reported(ctx, readiness.Observed{State: shared.StateDeleting, Message: purgeSummary(m.kyma.state.Purge.Forced, res)})
		m.tellRemoval("Manifest was purged")
	}
	m.EndStep(ctx, started)
	return nil
}

// forced records the objects that a purge forced.
func (m *moduleRun) forced(res purge.Result) {
	m.kyma.state.Purge.Forced.Add(res.Forced, res.Names)
	m.kyma.viewReport()
}

// purgeStopped records a purge that stopped early. It counts as failed only if it made no progress or has used up
// purgeRounds.
func (m *moduleRun) purgeStopped(ctx workflow.Context, started time.Time, res purge.Result) {
	m.forced(res)
	m.state.PurgeRounds++
	if res.Progress && m.state.PurgeRounds <= purgeRounds {
		m.Attempt = 0
	} else {
		m.state.PurgeAttempts++
	}
	f := res.Fault
	f.Kind = fault.Transient
	m.state.Phase = phaseRest
	m.End(ctx, started, f)
}

// purgeSummary returns, for people, what a purge forced.
func purgeSummary(forced view.Forced, res purge.Result) string {
	text := "purged: " + forced.String()
	if len(res.Stays) > 0 {
		text += "; remaining: " + strings.Join(res.Stays, ", ")
	}
	if res.Unreached != "" {
		text += "; " + res.Unreached
	}
	return text
}
