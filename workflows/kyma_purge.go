package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
)

// PurgeCarry is where a deletion stands with regard to its end by force. When it is due is computed by every look
// anew; what is carried of it is for people and for the timer only.
type PurgeCarry struct {
	// At is when the deletion is to be forced, by the last look; zero means never.
	At time.Time `json:"at,omitzero"`
	// OrderlyFor is how long an orderly removal must have been tried before, by the last look.
	OrderlyFor time.Duration `json:"orderlyFor,omitempty"`
	// OrderlySince is since when an orderly removal has been tried with control plane and Temporal up, and Next when
	// the look was planned that should follow the last one: one that comes much later shows that something was down.
	OrderlySince time.Time `json:"orderlySince,omitzero"`
	Next         time.Time `json:"next,omitzero"`
	// Requested is true once somebody asked not to wait for the grace period.
	Requested bool `json:"requested,omitempty"`
	// SentAt is when the workflows of the Manifests were asked to purge.
	SentAt time.Time `json:"sentAt,omitzero"`
	// Lost is true while only those Manifests are purged that cannot be removed because the access Secret is gone.
	Lost bool `json:"lost,omitempty"`
	// Cleanups counts the tries to clean up the remote cluster by force.
	Cleanups int `json:"cleanups,omitempty"`
	// Forced is what this workflow itself forced.
	Forced Forced `json:"forcedObjects,omitzero"`
}

// purgeForceAfter is how long the workflows of Manifests have for a purge before their Kyma's forces them itself.
const purgeForceAfter = time.Minute

// lateLook is how much later than planned a look may come before the orderly removal counts as interrupted.
const lateLook = 2 * time.Minute

// mustPurge notes what a look at the Manifests under deletion says of the purge, and tells whether it is due now: the
// grace is over, which this very look has found anew, and an orderly removal was tried for long enough; or somebody
// asked for it.
func (r *kymaRun) mustPurge(ctx workflow.Context, left resolve.DeleteResult, err error) bool {
	p := &r.state.Purge
	if err != nil {
		// The control plane does not answer: that is no orderly removal, and what there is to purge is not known.
		p.OrderlySince = time.Time{}
		return false
	}
	now := workflow.Now(ctx)
	p.At, p.OrderlyFor = left.PurgeAt, left.OrderlyFor
	if p.OrderlySince.IsZero() || now.After(p.Next.Add(lateLook)) {
		p.OrderlySince = now
	}
	begun := !p.SentAt.IsZero() && !p.Lost || p.Cleanups > 0
	return p.Requested || left.PurgeDue && (begun || now.Sub(p.OrderlySince) >= left.OrderlyFor)
}

// purgesLost notes whether a purge is one of modules in a cluster whose access Secret is gone. Another kind of purge
// begins anew: the workflows of its Manifests were not asked yet.
func (p *PurgeCarry) purgesLost(lost bool) {
	if p.Lost != lost {
		p.Lost, p.SentAt = lost, time.Time{}
	}
}

// purgeCheck is when a removal is to be looked at because of the purge; zero means that it needs no look of its own.
func (r *kymaRun) purgeCheck(ctx workflow.Context) time.Time {
	p, now := r.state.Purge, workflow.Now(ctx)
	var at time.Time
	switch {
	case p.Cleanups > 0 && p.Cleanups <= cleanupTries:
		// The Manifests are gone already.
		return now.Add(cleanupPause)
	case !p.SentAt.IsZero() && now.Before(p.SentAt.Add(purgeForceAfter)):
		at = p.SentAt.Add(purgeForceAfter)
	case !p.SentAt.IsZero() || p.Cleanups > 0:
		// What fails is tried again as everything is.
		return time.Time{}
	case p.At.IsZero() || p.OrderlySince.IsZero():
		return time.Time{}
	default:
		at = p.At
		if orderly := p.OrderlySince.Add(p.OrderlyFor); orderly.After(at) {
			at = orderly
		}
	}
	if soon := now.Add(minNextLook); at.Before(soon) {
		// The clock of the worker that looked is behind.
		return soon
	}
	return at
}

// removalWaitsFor says in words what a removal waits for, and when it is forced.
func (r *kymaRun) removalWaitsFor() string {
	if p := r.state.Purge; !p.SentAt.IsZero() || p.Requested {
		return "the modules to be purged"
	} else if !p.At.IsZero() {
		return "the modules to be removed; purge at " + p.At.UTC().Format(time.RFC3339)
	}
	return "the modules to be removed"
}

// purge takes one step of the deletion by force: the Manifests by their own workflows, those that are left after a
// minute by this one, then what is in the remote cluster, then the Kyma.
func (r *kymaRun) purge(ctx workflow.Context, left resolve.DeleteResult, again bool) error {
	if len(left.Manifests) == 0 {
		return r.purgeRemote(ctx)
	}
	return r.purgeModules(ctx, left.Manifests, again, "modules are being purged: "+strings.Join(left.Left, ", "))
}

// purgeModules takes one step of forcing Manifests, and says what is waited for; again is as for reportRemoval.
func (r *kymaRun) purgeModules(ctx workflow.Context, manifests []kick.Ref, again bool, waiting string) error {
	p := &r.state.Purge
	r.doing(ctx, "purging")
	switch {
	case p.SentAt.IsZero():
		summary := fmt.Sprintf("purge %d Manifests", len(manifests))
		err := workflow.ExecuteActivity(writing(ctx, kick.ControlPlaneQueue, summary), r.purges.SendPurge,
			purge.SendInput{Kyma: r.ref.Name, Manifests: manifests}).Get(ctx, nil)
		if temporal.IsCanceledError(err) {
			return err
		}
		if err == nil {
			p.SentAt = workflow.Now(ctx)
		} else {
			r.state.ResolveFault = fault.FromTemporal(err)
		}
	case workflow.Now(ctx).Sub(p.SentAt) >= purgeForceAfter:
		if err := r.purgeManifests(ctx, manifests); err != nil {
			return err
		}
	}
	return r.reportRemoval(ctx, status.ReportInput{Waiting: waiting, Purging: true}, again)
}

// purgeManifests forces Manifests whose own workflows did not come to an end.
func (r *kymaRun) purgeManifests(ctx workflow.Context, manifests []kick.Ref) error {
	type purging struct {
		res purge.PurgeResult
		err error
	}
	results := make([]purging, len(manifests))
	wait := workflow.NewWaitGroup(ctx)
	for i, ref := range manifests {
		wait.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wait.Done()
			results[i].res, results[i].err = executePurge(ctx, r.purges, ref, true)
		})
	}
	wait.Wait(ctx)
	for _, result := range results {
		if temporal.IsCanceledError(result.err) {
			return result.err
		}
		if result.err != nil {
			r.state.ResolveFault = fault.FromTemporal(result.err)
		} else if f := result.res.Fault; !f.IsZero() {
			// It forced something, and is tried again.
			f.Kind = fault.Transient
			r.state.ResolveFault = f
		}
		r.state.Purge.Forced.add(result.res.Forced, result.res.Names)
	}
	r.viewReport()
	return nil
}

const (
	// cleanupTries is how often cleaning up the remote cluster by force may fail before it is let go.
	cleanupTries = 2
	// cleanupPause is the pause between two of these tries.
	cleanupPause = 10 * time.Second
)

// purgeRemote removes by force what is ours in the remote cluster, or lets it go, and then the Kyma.
func (r *kymaRun) purgeRemote(ctx workflow.Context) error {
	p := &r.state.Purge
	var res syncing.Result
	err := workflow.ExecuteActivity(writing(ctx, kick.RemoteQueue, "clean up the remote cluster by force"),
		r.sync.CleanupRemote, syncing.CleanupInput{Ref: r.ref, Seen: r.versions(), Force: true}).Get(ctx, &res)
	if temporal.IsCanceledError(err) {
		return err
	}
	p.Cleanups++
	p.Forced.add(len(res.Forced), res.Forced)
	r.viewReport()
	letGo := ""
	if r.state.SyncFault = fault.FromTemporal(err); err == nil {
		r.state.SyncFault = res.Fault
	}
	if !r.state.SyncFault.IsZero() {
		if p.Cleanups <= cleanupTries {
			return r.reportRemoval(ctx, status.ReportInput{Waiting: "the remote cluster is being cleaned up", Purging: true}, false)
		}
		letGo = "catalog, remote Kyma and definitions could not be removed and are left in the remote cluster: " + r.state.SyncFault.Message
	}
	return r.release(ctx, fault.Shorten("release the finalizer of the purged Kyma: "+p.Forced.String(), maxSummary), letGo)
}

// ErrTypeNotLooked is the type of the retryable error of a purge for which the Kyma could not be looked at in time.
const ErrTypeNotLooked = "KymaNotLookedAt"

// ErrTypeNotDeleting is the type of the error with which a purge of a Kyma is refused that is not being deleted.
const ErrTypeNotDeleting = "KymaIsNotBeingDeleted"

func errNotDeleting() error {
	return temporal.NewNonRetryableApplicationError("only a Kyma that is being deleted can be purged: delete it first", ErrTypeNotDeleting, nil)
}

// servePurge registers the update that purges before the grace period is over.
func (r *kymaRun) servePurge(ctx workflow.Context) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, kick.UpdatePurge, r.purgeNow,
		workflow.UpdateHandlerOptions{Validator: func(workflow.Context) error { return r.refuseWhenEnding() }})
}

// purgeNow makes the next look of the removal purge, and answers when it has ended. A run that has not heard of a
// deletion looks at the Kyma first: whoever asks may have come before the kick, or with the start of the run.
func (r *kymaRun) purgeNow(ctx workflow.Context) (ReconcileResult, error) {
	reached := func() (string, string) { return string(r.state.Last.State), r.state.Last.Message }
	if !r.state.Deleting {
		looked, err := r.reconcile(ctx, reached)
		switch {
		case err != nil:
			return ReconcileResult{}, err
		case !r.state.Deleting && !looked.Completed:
			return ReconcileResult{}, temporal.NewApplicationError("the Kyma could not be looked at in time, try again", ErrTypeNotLooked)
		case !r.state.Deleting:
			return ReconcileResult{}, errNotDeleting()
		}
	}
	r.state.Purge.Requested = true
	looked, err := r.reconcile(ctx, reached)
	if err == nil && looked.Completed && !r.state.Deleting {
		return ReconcileResult{}, errNotDeleting()
	}
	return looked, err
}
