package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/removal"
)

// purgeModules takes one step of forcing Manifests, by their own workflows at first; waiting says what is waited for, and
// again is as for reportRemoval.
func (r *kymaRun) purgeModules(ctx workflow.Context, manifests []kick.Ref, again bool, waiting string) error {
	p := &r.state.Purge
	r.doing(ctx, "purging")
	switch p.Modules(workflow.Now(ctx)) {
	case removal.Ask:
		summary := fmt.Sprintf("purge %d Manifests", len(manifests))
		err := workflow.ExecuteActivity(attempts.Writing(ctx, kick.ControlPlaneQueue, summary), r.purges.SendPurge,
			purge.SendInput{Kyma: r.ref.Name, Manifests: manifests}).Get(ctx, nil)
		if temporal.IsCanceledError(err) {
			return err
		}
		if err == nil {
			p.SentAt = workflow.Now(ctx)
		} else {
			r.state.ResolveFault = fault.FromTemporal(err)
		}
	case removal.Force:
		if err := r.purgeManifests(ctx, manifests); err != nil {
			return err
		}
	case removal.Await:
	}
	return r.reportRemoval(ctx, status.ReportInput{Waiting: waiting, Purging: true}, again)
}

// purgeManifests forces Manifests whose own workflows did not complete.
func (r *kymaRun) purgeManifests(ctx workflow.Context, manifests []kick.Ref) error {
	type purging struct {
		res purge.Result
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
			// It forced something, and is retried.
			f.Kind = fault.Transient
			r.state.ResolveFault = f
		}
		r.state.Purge.Forced.Add(result.res.Forced, result.res.Names)
	}
	r.viewReport()
	return nil
}

// purgeRemote removes by force what is ours in the remote cluster, or abandons it, and then releases the Kyma.
func (r *kymaRun) purgeRemote(ctx workflow.Context) error {
	p := &r.state.Purge
	var res syncing.Result
	err := workflow.ExecuteActivity(attempts.Writing(ctx, kick.RemoteQueue, "clean up the remote cluster by force"),
		r.sync.CleanupRemote, syncing.CleanupInput{Ref: r.ref, Seen: r.versions(), Force: true}).Get(ctx, &res)
	if temporal.IsCanceledError(err) {
		return err
	}
	p.Cleanups++
	p.Forced.Add(len(res.Forced), res.Forced)
	r.viewReport()
	abandoned := ""
	if r.state.SyncFault = fault.FromTemporal(err); err == nil {
		r.state.SyncFault = res.Fault
	}
	if !r.state.SyncFault.IsZero() {
		if p.CleanupRetried() {
			return r.reportRemoval(ctx, status.ReportInput{Waiting: "the remote cluster is being cleaned up", Purging: true}, false)
		}
		abandoned = "catalog, remote Kyma and definitions could not be removed and remain in the remote cluster: " + r.state.SyncFault.Message
	}
	return r.release(ctx, fault.Shorten("release the finalizer of the purged Kyma: "+p.Forced.String(), attempts.MaxSummary), abandoned)
}

// ErrTypeNotReconciled is the type of the retryable error of a purge for which the Kyma could not be read in time.
const ErrTypeNotReconciled = "KymaNotLookedAt"

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

// purgeNow makes the next check of the removal purge, and answers when it has ended. A run that does not know of a
// deletion reads the Kyma first: the caller may have come before the kick, or with the start of the run.
func (r *kymaRun) purgeNow(ctx workflow.Context) (ReconcileResult, error) {
	reached := func() (string, string) { return string(r.state.Last.State), r.state.Last.Message }
	if !r.state.Deleting {
		reconciled, err := r.reconcileNow(ctx, reached)
		switch {
		case err != nil:
			return ReconcileResult{}, err
		case !r.state.Deleting && !reconciled.Completed:
			return ReconcileResult{}, temporal.NewApplicationError("the Kyma could not be read in time, try again", ErrTypeNotReconciled)
		case !r.state.Deleting:
			return ReconcileResult{}, errNotDeleting()
		}
	}
	r.state.Purge.Requested = true
	reconciled, err := r.reconcileNow(ctx, reached)
	if err == nil && reconciled.Completed && !r.state.Deleting {
		return ReconcileResult{}, errNotDeleting()
	}
	return reconciled, err
}
