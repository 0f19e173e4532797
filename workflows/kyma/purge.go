package kyma

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
)

// purgeModules purges these Manifests. waiting says what the removal waits for. For the parameter again, see reportRemoval.
func (r *run) purgeModules(ctx workflow.Context, manifests []kick.Ref, again bool, waiting string) error {
	r.Doing(ctx, "purging")
	admitted, err := r.admitPurge(ctx, manifests)
	if err != nil {
		return err
	}
	if admitted && r.state.Purge.Ask(workflow.Now(ctx)) {
		for _, ref := range manifests {
			if m := r.module(ref); !m.state.Purging {
				m.askPurge("the grace period is over")
			}
		}
	}
	return r.reportRemoval(ctx, status.ReportInput{Waiting: waiting, Purging: true}, again)
}

// admitPurge asks the removal budget whether the modules may be purged. It asks no more once the budget has admitted
// the purge.
func (r *run) admitPurge(ctx workflow.Context, manifests []kick.Ref) (bool, error) {
	if r.state.Purge.Begun {
		return true, nil
	}
	summary := fmt.Sprintf("ask the removal budget to purge %d Manifests", len(manifests))
	err := workflow.ExecuteActivity(attempts.Writing(ctx, kick.ControlPlaneQueue, r.Why(summary)), r.purges.AdmitPurge, purge.AdmitInput{Ref: r.Ref}).Get(ctx, nil)
	if temporal.IsCanceledError(err) {
		return false, err
	}
	if err != nil {
		r.state.ResolveFault = fault.FromTemporal(err)
		return false, nil
	}
	r.state.Purge.Begun = true
	return true, nil
}

// purgeRemote removes our objects in the remote cluster by force, or abandons them, and then releases the Kyma.
func (r *run) purgeRemote(ctx workflow.Context) error {
	p := &r.state.Purge
	var res syncing.Result
	err := workflow.ExecuteActivity(attempts.Writing(ctx, kick.RemoteQueue, r.Why("clean up the remote cluster by force")),
		r.sync.CleanupRemote, syncing.CleanupInput{Ref: r.Ref, Seen: r.versions(), Force: true}).Get(ctx, &res)
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
	return r.release(ctx, "release the finalizer of the purged Kyma: "+p.Forced.String(), abandoned)
}

// ErrTypeNotReconciled is the type of the retryable error of a purge whose run could not read the Kyma in time.
const ErrTypeNotReconciled = "KymaNotLookedAt"

// ErrTypeNotDeleting is the type of the error of a purge for a Kyma that is not being deleted.
const ErrTypeNotDeleting = "KymaIsNotBeingDeleted"

func errNotDeleting() error {
	return temporal.NewNonRetryableApplicationError("the Kyma is not being deleted: delete it before you purge it", ErrTypeNotDeleting, nil)
}

// askPurge requests a purge of the module.
func (m *moduleRun) askPurge(reason string) {
	m.Box.Put(kick.Kick{Reason: reason, Urgent: true, Deleting: true})
	m.Box.Pending.Purge = true
}

// purgeNow makes the next check of the removal purge, and returns when the check has ended. If the run does not know
// of a deletion, it first reads the Kyma: the update may arrive before the kick, or start the run. If the Kyma is
// gone, its remaining modules are purged at once.
func (r *run) purgeNow(ctx workflow.Context) (ReconcileResult, error) {
	if !r.state.Deleting {
		reconciled, err := r.reconcileNow(ctx, ReconcileRequest{})
		switch {
		case err != nil:
			return ReconcileResult{}, err
		case r.gone():
			return r.purgeLeft(ctx)
		case !r.state.Deleting && !reconciled.Completed:
			return ReconcileResult{}, temporal.NewApplicationError("the Kyma could not be read in time; send the update again", ErrTypeNotReconciled)
		case !r.state.Deleting:
			return ReconcileResult{}, errNotDeleting()
		}
	}
	r.state.Purge.Requested = true
	reconciled, err := r.reconcileNow(ctx, ReconcileRequest{})
	switch {
	case err == nil && r.gone() && !r.isIdle():
		return r.purgeLeft(ctx)
	case err == nil && reconciled.Completed && !r.state.Deleting:
		return ReconcileResult{}, errNotDeleting()
	}
	return reconciled, err
}

// purgeLeft purges the modules that a Kyma left behind, and returns when each purge has been attempted.
func (r *run) purgeLeft(ctx workflow.Context) (ReconcileResult, error) {
	for _, m := range r.modules {
		m.askPurge("a purge was requested")
	}
	tried := func() bool { return !slices.ContainsFunc(r.modules, (*moduleRun).inStep) }
	completed, err := r.AwaitRequested(ctx, "a caller waits for a purge to end", tried)
	return ReconcileResult{Completed: completed}, err
}
