package kyma

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
)

// reconcile is one whole reconcile of the Kyma: it reads the modules that the remote Kyma requests, writes Manifests,
// and writes the status. If it could not read the remote Kyma, it changes no Manifest.
func (r *run) reconcile(ctx workflow.Context) error {
	pending, started := r.Start(ctx)
	if at := r.state.NextReconcile; pending.Count == 0 && !at.IsZero() && !at.After(started) {
		r.Background = true // for example at the start of a maintenance window, which affects many Kymas
	}
	r.note(pending.Seen)
	r.Doing(ctx, "reconciling: "+cmp.Or(pending.Reason, "started"))
	if owed := r.state.OwedDigest; owed != "" {
		if r.state.OwedDigest = ""; r.Background { // the turn may be far off
			if err := r.aggregate(ctx, owed, pending.Gone); err != nil {
				return err
			}
		}
	}

	var done background.Result
	var stop bool
	var err error
	if r.Background {
		stop, done, err = r.reconcileInBackground(ctx, &pending)
	} else {
		stop, err = r.synchronize(ctx)
	}
	if err != nil || stop {
		return r.endReconcile(ctx, started, err)
	}
	res := resolve.Result{}
	if r.state.SyncFault.IsZero() {
		if res, stop, err = r.resolveModules(ctx, done); err != nil || stop {
			return r.endReconcile(ctx, started, err)
		}
	}
	if done.Reported != nil {
		r.state.ReportFault = fault.Fault{}
		return r.endReconcile(ctx, started, r.written(ctx, *done.Reported, r.hasRemote()))
	}
	if !pending.Gone && r.mayReportLater(res) {
		return r.reportLater(ctx, started, res)
	}
	return r.endReconcile(ctx, started, r.aggregate(ctx, res.InputsDigest, pending.Gone))
}

// synchronize synchronizes the remote cluster. It returns true if the Kyma is gone or being deleted, which ends the
// reconcile.
func (r *run) synchronize(ctx workflow.Context) (bool, error) {
	var res syncing.Result
	const summary = "synchronize the remote cluster"
	in := syncing.Input{Ref: r.Ref, Seen: r.versions()}
	err := r.Do(ctx, kick.RemoteQueue, summary, &res, r.sync.SyncRemote, in)
	return r.synchronized(res, err)
}

// synchronized records the result of a synchronization.
func (r *run) synchronized(res syncing.Result, err error) (bool, error) {
	if temporal.IsCanceledError(err) {
		return true, err
	}
	if r.state.SyncFault = fault.FromTemporal(err); !r.state.SyncFault.IsZero() {
		return false, nil
	}
	r.state.Sync, r.left = res, res.Kyma
	r.unpark(true)
	r.begin(res.Left, kick.Kick{Reason: "Manifest is being deleted", Urgent: true, Deleting: true, IfIdle: true})
	return r.ends(res.Outcome == syncing.OutcomeGone, res.Outcome == syncing.OutcomeDeleting), nil
}

// resolveModules writes the Manifests that the Kyma requests, unless the background activity has written them, and
// starts the work on their modules and on named ones. Its result is empty if it failed.
func (r *run) resolveModules(ctx workflow.Context, done background.Result) (resolve.Result, bool, error) {
	var res resolve.Result
	var err error
	installed := done.Installed
	if done.Resolved != nil {
		res = *done.Resolved
	} else {
		named := r.named
		r.named = nil
		err = r.Do(ctx, kick.ControlPlaneQueue, "resolve modules and write Manifests", &res, r.resolve.ResolveKyma,
			resolve.Input{Ref: r.Ref, Seen: append(r.versions(), r.state.Sync.Imported...), Background: r.Background, Since: r.Since, Modules: named})
	}
	if temporal.IsCanceledError(err) {
		return resolve.Result{}, true, err
	}
	if r.state.ResolveFault = fault.FromTemporal(err); !r.state.ResolveFault.IsZero() {
		return resolve.Result{}, false, nil
	}
	r.noteWritten(res)
	r.install(ctx, res, installed)
	r.state.ResolveFault, r.Since = res.Fault, time.Time{}
	r.state.NextReconcile, r.state.NextReconcileFor, r.state.Paced = res.NextReconcile, res.NextReconcileFor, res.Paced
	if soon := workflow.Now(ctx).Add(minNextReconcile); !res.NextReconcile.IsZero() && res.NextReconcile.Before(soon) {
		// The clock of the worker that answered is slow.
		r.state.NextReconcile = soon
	}
	gone := res.Outcome == resolve.OutcomeGone || res.Outcome == resolve.OutcomeNotOurs
	return res, r.ends(gone, res.Outcome == resolve.OutcomeDeleting), nil
}

// ends records that the Kyma is gone or being deleted, and reports whether it is either.
func (r *run) ends(gone, deleting bool) bool {
	if gone {
		r.state.Last = status.ReportResult{Outcome: status.OutcomeGone}
	}
	if deleting && !r.state.Deleting {
		r.state.Deleting = true
		r.Box.Put(kick.Kick{Reason: "Kyma is being deleted", Urgent: true, Deleting: true})
	}
	return gone || deleting
}

// endReconcile ends the reconcile, whatever its result.
func (r *run) endReconcile(ctx workflow.Context, started time.Time, err error) error {
	if err != nil {
		return err
	}
	r.state.Reconciled = true
	r.forgetVersions()
	r.End(ctx, started, r.worst())
	r.waitForNextReconcile(ctx)
	r.reconcileAgainIfNeeded()
	r.viewReport()
	return nil
}

// minNextReconcile is the minimum wait before a reconcile that the last one asked for.
const minNextReconcile = 5 * time.Second

// nextReconcileSpread is the span over which Kymas reconcile if a maintenance window starts for all of them.
const nextReconcileSpread = 30 * time.Second

// waitForNextReconcile sets the durable timer that the last reconcile asked for, unless a retry comes earlier.
func (r *run) waitForNextReconcile(ctx workflow.Context) {
	if !r.state.NextReconcile.After(workflow.Now(ctx)) {
		// The time has passed, and the reconcile failed before it could ask for another: the general backoff retries
		// it.
		r.state.NextReconcile, r.state.NextReconcileFor, r.state.Paced = time.Time{}, "", false
	}
	if r.state.NextReconcile.IsZero() || r.state.Deleting {
		return
	}
	at := r.state.NextReconcile.Add(spread.Delay(nextReconcileSpread, r.ID))
	if r.RetryAt.IsZero() || at.Before(r.RetryAt) {
		r.RetryAt = at
	}
}

// reconcileAgainIfNeeded adds a kick if the report found changed inputs. It adds none if the reconcile failed,
// because a retry or a change repeats a failed reconcile. If the change affects many Kymas, the kick waits for this
// Kyma's turn.
func (r *run) reconcileAgainIfNeeded() {
	last := r.state.Last
	if !last.NeedsReconcile || !r.Fault.IsZero() || r.state.Paced || r.state.Deleting || r.gone() {
		return
	}
	k := kick.Kick{Reason: "inputs changed since the last reconcile"}
	if !last.ReconcileAt.IsZero() {
		k.NotBefore = &last.ReconcileAt
	}
	r.Box.Put(k)
}

// worst returns the fault that decides when to repeat the reconcile. A retryable fault comes before one that waits
// for a change.
func (r *run) worst() fault.Fault {
	var faults fault.Parts
	if !r.state.Deleting {
		faults = r.state.Sync.Faults
	}
	return faults.With(fault.PartSync, r.state.SyncFault).With(fault.PartResolve, r.state.ResolveFault).
		With(fault.PartReport, r.state.ReportFault).ToRetry()
}
