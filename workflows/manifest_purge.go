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
)

// purgeTries is how often a purge may fail before the Manifest is let go without its cluster: one blip must not leave
// a module behind in a cluster that is there.
const purgeTries = 2

// purgeRounds is how often a purge that comes on may go on before that counts as failing: somebody may make new objects
// as fast as they are purged.
const purgeRounds = 60

// purge forces what is left of the module and lets the Manifest go.
func (r *manifestRun) purge(ctx workflow.Context) error {
	_, started := r.begin(ctx)
	r.doing(ctx, "purging the module")
	if !r.state.Purging {
		// How often other steps failed says nothing of how soon this one may be tried again.
		r.attempt = 0
	}
	r.state.Deleting, r.state.Purging = true, true
	letGo := r.state.PurgeTries >= purgeTries
	res, err := executePurge(ctx, r.purges, r.ref, letGo)
	if temporal.IsCanceledError(err) {
		return err
	}
	if err == nil && res.Outcome == manifests.OutcomeWaiting {
		r.purgeStopped(ctx, started, res)
		return nil
	}
	if err != nil {
		// A purge comes to an end, whatever the fault is: the next try may let go.
		r.state.PurgeTries++
		f := fault.FromTemporal(err)
		f.Kind = fault.Transient
		r.state.Phase = phaseRest
		r.end(ctx, started, f)
		r.viewReported()
		return nil
	}
	if res.Outcome == manifests.OutcomeApplied {
		// Neither it nor its Kyma is being deleted.
		r.state.Phase, r.state.Deleting, r.state.Purging, r.state.PurgeTries = phaseLook, false, false, 0
		r.state.PurgeRounds, r.state.Forced = 0, Forced{}
	} else {
		r.state.Phase = phaseEnded
		r.state.Forced.add(res.Forced, res.Names)
		r.state.Reported = readiness.Observed{State: shared.StateDeleting, Message: purgeSummary(r.state.Forced, res)}
		r.view.Forced = r.state.Forced
	}
	r.endStep(ctx, started)
	r.viewReported()
	r.show(ctx)
	return nil
}

// executePurge runs the one activity that forces what is left of a module.
func executePurge(ctx workflow.Context, activities *purge.Activities, ref kick.Ref, letGo bool) (purge.PurgeResult, error) {
	summary := "force what is left of " + ref.Name
	if letGo {
		summary += ", or let it go"
	}
	var res purge.PurgeResult
	err := workflow.ExecuteActivity(writing(ctx, kick.RemoteQueue, fault.Shorten(summary, maxSummary)),
		activities.PurgeManifest, purge.PurgeInput{Ref: ref, LetGo: letGo}).Get(ctx, &res)
	return res, err
}

// purgeStopped notes a purge that did something and could not go on. One that came on has failed in nothing.
func (r *manifestRun) purgeStopped(ctx workflow.Context, started time.Time, res purge.PurgeResult) {
	r.state.Forced.add(res.Forced, res.Names)
	r.view.Forced = r.state.Forced
	r.state.PurgeRounds++
	if res.Progress && r.state.PurgeRounds <= purgeRounds {
		r.attempt = 0
	} else {
		r.state.PurgeTries++
	}
	f := res.Fault
	f.Kind = fault.Transient
	r.state.Phase = phaseRest
	r.end(ctx, started, f)
	r.viewReported()
}

// purgeSummary says what a purge forced, for people.
func purgeSummary(forced Forced, res purge.PurgeResult) string {
	said := "purged: " + forced.String()
	if len(res.Stays) > 0 {
		said += "; left there: " + strings.Join(res.Stays, ", ")
	}
	if res.Unreached != "" {
		said += "; " + res.Unreached
	}
	return said
}
