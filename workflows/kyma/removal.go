package kyma

import (
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/removal"
)

// remove takes one step of the removal of a Kyma. Package removal decides which.
func (r *run) remove(ctx workflow.Context) error {
	pending, started := r.Start(ctx)
	r.note(pending.Seen)
	r.Doing(ctx, "removing")
	r.state.RemovalChecks++
	if pending.Count > 0 {
		r.state.RemovalChecks = 0
	}
	again := r.state.Last.State == shared.StateDeleting
	if !again {
		// Show the state here and in the remote cluster before removing anything. Faults of the modules that the Kyma
		// requested no longer matter.
		r.state.ResolveFault = fault.Fault{}
		if err := r.reportRemoval(ctx, status.ReportInput{Waiting: "modules are being removed"}, true); err != nil {
			return err
		}
	}

	var remaining resolve.DeleteResult
	err := r.Do(ctx, kick.ControlPlaneQueue, "delete the Manifests", &remaining,
		r.resolve.DeleteManifests, resolve.Input{Ref: r.Ref, Seen: r.versions()})
	if temporal.IsCanceledError(err) {
		return err
	}
	if r.state.ResolveFault = fault.FromTemporal(err); err == nil {
		r.state.ResolveFault = remaining.Fault
		r.begin(remaining.Removing, kick.Kick{Reason: "Manifest is being deleted", Urgent: true, Deleting: true, IfIdle: true})
	}
	step := removal.Next(r.removalSituation(ctx, remaining, err))
	if step == removal.Wait && !again && r.worst().IsZero() {
		return r.endRemoval(ctx, started, nil) // The earlier report says everything.
	}
	return r.takeRemovalStep(ctx, started, step, remaining, again)
}

// removalSituation records the result of deleting the Manifests, and returns the input of removal.Next.
func (r *run) removalSituation(ctx workflow.Context, remaining resolve.DeleteResult, err error) removal.Situation {
	if err != nil {
		r.state.Purge.Interrupted()
		return removal.Situation{Failed: true}
	}
	s := removal.Situation{
		Gone: remaining.Outcome == resolve.OutcomeGone, Alive: remaining.Alive,
		Remaining: len(remaining.Remaining), Purgeable: len(remaining.Manifests), WithoutAccess: len(remaining.WithoutAccess),
	}
	if s.Gone || s.Alive {
		return s
	}
	now := workflow.Now(ctx)
	if s.Remaining > 0 {
		if !remaining.Access.IsZero() {
			r.state.SyncFault = remaining.Access
		}
		s.SecretGone = r.secretIsGone(ctx, remaining.Access.Reason)
	}
	r.state.Purge.Checked(now, remaining.PurgeAt, remaining.OrderlyFor)
	s.PurgeDue = r.state.Purge.Due(now, remaining.PurgeDue)
	// The other kind of purge has to be admitted separately.
	r.state.Purge.SetLost(removal.Next(s) == removal.Release)
	return s
}

// takeRemovalStep takes a step. For the parameter again, see reportRemoval.
func (r *run) takeRemovalStep(ctx workflow.Context, started time.Time, step removal.Step, remaining resolve.DeleteResult, again bool) error {
	names := strings.Join(remaining.Remaining, ", ")
	switch step {
	case removal.End:
		r.ends(true, false)
		return r.endReconcile(ctx, started, nil)
	case removal.Resume:
		r.resume()
		return r.endReconcile(ctx, started, nil)
	case removal.PurgeModules:
		return r.endRemoval(ctx, started, r.purgeModules(ctx, remaining.Manifests, again, "modules are being purged: "+names))
	case removal.PurgeCluster:
		return r.endRemoval(ctx, started, r.purgeRemote(ctx))
	case removal.Release:
		return r.endRemoval(ctx, started, r.purgeModules(ctx, remaining.WithoutAccess, again, "the access Secret is gone, modules are released: "+names))
	case removal.CleanUp:
		return r.endRemoval(ctx, started, r.cleanUp(ctx))
	case removal.Wait:
	}
	return r.endRemoval(ctx, started, r.reportRemoval(ctx, status.ReportInput{Waiting: "modules are being removed: " + names}, again))
}

// resume ends the removal of a Kyma that exists and is not being deleted, for example after a restore of the control
// plane. The live object counts, not the progress of the removal.
func (r *run) resume() {
	r.state.Deleting, r.state.Purge, r.state.SecretMissingSince, r.state.RemovalChecks = false, removal.Purge{}, time.Time{}, 0
	r.Box.Put(kick.Kick{Reason: "the Kyma is no longer being deleted", Urgent: true})
}

// cleanUp removes our objects in the remote cluster, then releases the Kyma.
func (r *run) cleanUp(ctx workflow.Context) error {
	var res background.CleanUpResult
	err := workflow.ExecuteActivity(attempts.Writing(ctx, kick.RemoteQueue, r.Why("clean up the remote cluster, then release the finalizer")),
		r.inBackground.CleanUpAndRelease, syncing.CleanupInput{Ref: r.Ref, Seen: r.versions()}).Get(ctx, &res)
	if temporal.IsCanceledError(err) {
		return err
	}
	r.state.SyncFault = fault.FromTemporal(err)
	abandoned := ""
	if gone := r.secretIsGone(ctx, r.state.SyncFault.Reason); gone {
		abandoned = "catalog, remote Kyma, definitions and image pull Secret remain in the remote cluster: its access Secret is gone"
	} else if err != nil {
		return r.reportRemoval(ctx, status.ReportInput{Waiting: "the remote cluster cannot be cleaned up: " + r.state.SyncFault.Message}, false)
	}
	if res.Released != nil {
		r.released(*res.Released)
		return nil
	}
	return r.release(ctx, "release the finalizer", abandoned)
}

// release removes the Kyma's finalizer. abandoned lists what remains in the remote cluster. This is never a local
// activity, because it causes a signal: the server refuses to complete a task that ends a run if a new signal has
// arrived.
func (r *run) release(ctx workflow.Context, summary, abandoned string) error {
	var released status.ReportResult
	err := workflow.ExecuteActivity(attempts.Writing(ctx, kick.ControlPlaneQueue, r.Why(summary)),
		r.status.ReleaseKyma, status.ReleaseInput{Ref: r.Ref, Seen: r.versions(), Abandoned: abandoned}).Get(ctx, &released)
	if temporal.IsCanceledError(err) {
		return err
	}
	r.state.ResolveFault = fault.FromTemporal(err)
	if err == nil {
		r.released(released)
	}
	return nil
}

// released records that the Kyma's finalizer was removed, or why it was not.
func (r *run) released(res status.ReportResult) {
	r.state.SyncFault = fault.Fault{}
	r.state.Last.Outcome = res.Outcome
}

// secretIsGone records whether this check found the access Secret missing, and reports whether the Secret counts as
// permanently gone.
func (r *run) secretIsGone(ctx workflow.Context, reason string) bool {
	var gone bool
	r.state.SecretMissingSince, gone = removal.SecretGone(r.state.SecretMissingSince, workflow.Now(ctx), reason == clusters.ReasonAccessSecretNotFound)
	return gone
}

// endRemoval ends a step of the removal and sets the time of the next check if no kick comes.
func (r *run) endRemoval(ctx workflow.Context, started time.Time, err error) error {
	if err := r.endReconcile(ctx, started, err); err != nil || r.gone() {
		return err
	}
	check := removal.NextCheck(workflow.Now(ctx), r.state.RemovalChecks, r.ID, r.state.Purge, r.state.SecretMissingSince)
	if r.RetryAt.IsZero() || r.RetryAt.After(check) {
		r.RetryAt = check
	}
	r.state.Purge.Next = r.RetryAt
	return nil
}
