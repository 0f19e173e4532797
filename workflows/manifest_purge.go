package workflows

import (
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// purgeAttempts is how often a purge may fail before the Manifest is released without its cluster: one short failure must
// not abandon a module in a cluster that exists.
const purgeAttempts = 2

// purgeRounds is how often a purge that makes progress may continue before that counts as failing: somebody may create
// objects as fast as they are purged.
const purgeRounds = 60

// purge forces what remains of the module and releases the Manifest.
func (r *manifestRun) purge(ctx workflow.Context) error {
	_, started := r.begin(ctx)
	r.doing(ctx, "purging the module")
	if !r.state.Purging {
		// How often other steps failed says nothing about how soon this one may be retried.
		r.attempt = 0
	}
	r.state.Deleting, r.state.Purging = true, true
	release := r.state.PurgeAttempts >= purgeAttempts
	res, err := executePurge(ctx, r.purges, r.ref, release)
	if temporal.IsCanceledError(err) {
		return err
	}
	if err == nil && res.Outcome == manifests.OutcomeWaiting {
		r.purgeStopped(ctx, started, res)
		return nil
	}
	if err != nil {
		// A purge comes to an end, whatever the fault is: the next attempt may release the Manifest.
		r.state.PurgeAttempts++
		f := fault.FromTemporal(err)
		f.Kind = fault.Transient
		r.state.Phase = phaseRest
		r.end(ctx, started, f)
		r.viewReported()
		return nil
	}
	if res.Outcome == manifests.OutcomeApplied {
		// Neither it nor its Kyma is being deleted.
		r.state.Phase, r.state.Deleting, r.state.Purging, r.state.PurgeAttempts = phaseReconcile, false, false, 0
		r.state.PurgeRounds, r.state.Forced = 0, view.Forced{}
	} else {
		r.state.Phase = phaseEnded
		r.state.Forced.Add(res.Forced, res.Names)
		r.state.Reported = readiness.Observed{State: shared.StateDeleting, Message: purgeSummary(r.state.Forced, res)}
		r.view.Forced = r.state.Forced
	}
	r.endStep(ctx, started)
	r.viewReported()
	r.show(ctx)
	return nil
}

// executePurge runs the one activity that forces what remains of a module.
func executePurge(ctx workflow.Context, activities *purge.Activities, ref kick.Ref, release bool) (purge.Result, error) {
	summary := "force what remains of " + ref.Name
	if release {
		summary += ", or release it"
	}
	var res purge.Result
	err := workflow.ExecuteActivity(attempts.Writing(ctx, kick.RemoteQueue, fault.Shorten(summary, attempts.MaxSummary)),
		activities.PurgeManifest, purge.Input{Ref: ref, Abandon: release}).Get(ctx, &res)
	return res, err
}

// purgeStopped notes a purge that did something and could not continue. One that made progress has not failed.
func (r *manifestRun) purgeStopped(ctx workflow.Context, started time.Time, res purge.Result) {
	r.state.Forced.Add(res.Forced, res.Names)
	r.view.Forced = r.state.Forced
	r.state.PurgeRounds++
	if res.Progress && r.state.PurgeRounds <= purgeRounds {
		r.attempt = 0
	} else {
		r.state.PurgeAttempts++
	}
	f := res.Fault
	f.Kind = fault.Transient
	r.state.Phase = phaseRest
	r.end(ctx, started, f)
	r.viewReported()
}

// purgeSummary says what a purge forced, for people.
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
