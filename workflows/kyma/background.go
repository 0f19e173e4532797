package kyma

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

// reconcileInBackground takes the first steps of a reconcile that nobody waits for: it waits for its turn in a queue with
// few slots, and takes no time of workflow tasks, which all Kymas share. An urgent kick ends the wait. One about a
// Manifest's state is answered by a report, and the wait starts again; with any other, the reconcile continues as an
// urgent one and answers that kick too.
func (r *run) reconcileInBackground(ctx workflow.Context, pending *mailbox.Pending) (bool, background.Result, error) {
	for {
		res, last, err := r.inTurn(ctx, pending.Gone)
		if !temporal.IsCanceledError(err) || ctx.Err() != nil {
			if err == nil && answers(res.Began, last) {
				*pending = pending.With(r.Box.Take())
				r.note(pending.Seen)
				res.Reported = nil // That report did not know of those kicks.
			}
			stop, err := r.synchronized(res.Sync, err)
			return stop, res, err
		}
		asked := r.Box.TakeDue()
		all := pending.With(asked)
		r.Since = kick.Earliest(r.Since, asked.Since)
		r.note(all.Seen)
		if !asked.OnlyManifests {
			*pending = all
			r.Urgent, r.Background = true, false
			stop, err := r.synchronize(ctx)
			return stop, background.Result{}, err
		}
		if err := r.aggregate(ctx, "", asked.Gone); err != nil {
			return true, background.Result{}, err
		}
	}
}

// clockMargin is how far apart the clocks of the server's parts may be, and how much later than the leader a worker's
// informers may hear of a change.
const clockMargin = 5 * time.Second

// answers tells whether steps that began at one time answer kicks of which the last came at the other: they read what those
// kicks were about. The report that follows waits for the versions that the kicks named, and asks for another reconcile
// where the inputs are not those of this one.
func answers(began, last time.Time) bool {
	return !last.IsZero() && last.Add(clockMargin).Before(began)
}

// inTurn takes the steps when it is their turn, unless an urgent kick comes first: then the error says that they were
// cancelled. The time that it returns is when the last kick came meanwhile; zero where none did.
func (r *run) inTurn(ctx workflow.Context, gone bool) (background.Result, time.Time, error) {
	turn, cancel := workflow.WithCancel(attempts.Writing(ctx, kick.BackgroundQueue, r.Why("reconcile, when it is its turn")))
	defer cancel()
	future := workflow.ExecuteActivity(turn, r.inBackground.ReconcileInBackground, background.Input{Ref: r.Ref, Seen: r.versions(), Since: r.Since, ManifestGone: gone, Busy: r.busy()})
	var last time.Time
	waiting := r.Box.Count()
	if err := r.AwaitUnless(ctx, future, cancel, func() bool {
		if now := r.Box.Count(); now != waiting {
			waiting, last = now, workflow.Now(ctx)
		}
		return r.Box.Pending.Urgent
	}); err != nil {
		return background.Result{}, last, err
	}
	var res background.Result
	err := future.Get(ctx, &res)
	return res, last, err
}

// reportPatience is how long the report of a reconcile in the background waits for modules that are still to be applied. Those that
// were applied are followed, which has news of each in time.
const reportPatience = 10 * time.Second

// mayReportLater tells whether a reconcile has nothing to report except that modules that were ready are being changed. Most
// are ready again within seconds; then one report, here and in the remote cluster, says everything.
func (r *run) mayReportLater(res resolve.Result) bool {
	return r.Background && !r.settled && r.state.Last.State == shared.StateReady && r.worst().IsZero() &&
		len(res.Updated) > 0 && len(res.Created) == 0 && len(res.Deleted) == 0 && res.Refused == 0 && res.NextReconcile.IsZero()
}

// reportLater ends a reconcile without its report. The report is due with the first urgent news of a module, or if one is not ready in
// time.
func (r *run) reportLater(ctx workflow.Context, started time.Time, res resolve.Result) error {
	r.state.OwedDigest = res.InputsDigest
	r.state.Last.NeedsReconcile, r.state.Last.ReconcileAt = false, time.Time{} // this was that reconcile
	if err := r.endReconcile(ctx, started, nil); err != nil {
		return err
	}
	if r.applied {
		return nil
	}
	for _, wrote := range res.Wrote {
		r.Box.Put(kick.Kick{
			Reason: "modules were changed", Kind: wrote.Kind,
			Namespace: wrote.Namespace, Name: wrote.Name, ResourceVersion: wrote.ResourceVersion,
		})
	}
	r.Pace.Until = workflow.Now(ctx).Add(reportPatience)
	return nil
}
