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

// reconcileInBackground takes the first steps of a reconcile that no user waits for. The reconcile waits for its turn
// in a queue with few slots. It uses no time of workflow tasks, which all Kymas share. An urgent kick ends the wait.
// If the kick is only about a Manifest's state, a report answers it and the wait starts again. After any other urgent
// kick, the reconcile continues as an urgent one and answers that kick too.
func (r *run) reconcileInBackground(ctx workflow.Context, pending *mailbox.Pending) (bool, background.Result, error) {
	for {
		res, last, err := r.inTurn(ctx, pending.Gone)
		if !temporal.IsCanceledError(err) || ctx.Err() != nil {
			if err == nil && answers(res.Began, last) {
				*pending = pending.With(r.Box.Take())
				r.note(pending.Seen)
				res.Reported = nil // The report was written without these kicks.
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

// clockMargin bounds the clock skew between parts of the Temporal server, plus the lag of a worker's informers behind
// the leader's.
const clockMargin = 5 * time.Second

// answers reports whether steps that began at began answer kicks of which the last arrived at last. The steps then
// read the changes behind those kicks. The following report waits for the versions that the kicks named. It asks for
// another reconcile if the inputs have changed since.
func answers(began, last time.Time) bool {
	return !last.IsZero() && last.Add(clockMargin).Before(began)
}

// inTurn takes the steps when it is their turn. If an urgent kick comes first, it returns a cancellation error. It
// also returns when the last kick arrived in the meantime, or zero if none did.
func (r *run) inTurn(ctx workflow.Context, gone bool) (background.Result, time.Time, error) {
	turn, cancel := workflow.WithCancel(attempts.Writing(ctx, kick.BackgroundQueue, r.Why("reconcile in the background")))
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

// reportPatience is how long the report of a background reconcile waits for modules that are still to be applied.
// Applied modules are watched, which brings news of each in time.
const reportPatience = 10 * time.Second

// mayReportLater reports whether a reconcile has nothing to report except that ready modules are changing. Most of
// them are ready again within seconds. One report, here and in the remote cluster, then covers both.
func (r *run) mayReportLater(res resolve.Result) bool {
	return r.Background && !r.settled && r.state.Last.State == shared.StateReady && r.worst().IsZero() &&
		len(res.Updated) > 0 && len(res.Created) == 0 && len(res.Deleted) == 0 && res.Refused == 0 && res.NextReconcile.IsZero()
}

// reportLater ends a reconcile without its report. The report follows with the first urgent news of a module, or
// after reportPatience.
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
