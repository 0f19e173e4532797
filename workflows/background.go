package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/look"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
)

// lookInBackground takes the first steps of a look that nobody waits for: it waits for its turn in a queue
// with few slots, and takes no time of workflow tasks, which all Kymas share. An urgent kick ends the
// wait. One about a Manifest's state is answered by a report, and the wait begins anew; with any other, the look goes on
// as one that is asked for, and answers that kick too.
func (r *kymaRun) lookInBackground(ctx workflow.Context, pending *Pending) (bool, *resolve.Result, error) {
	for {
		res, err := r.inTurn(ctx)
		if !temporal.IsCanceledError(err) || ctx.Err() != nil {
			stop, err := r.synchronized(res.Sync, err)
			return stop, res.Resolved, err
		}
		asked := r.mail.takePart()
		all := pending.with(asked)
		r.note(all.Seen)
		if !asked.OnlyManifests {
			*pending = all
			r.urgent, r.background = true, false
			stop, err := r.synchronize(ctx)
			return stop, nil, err
		}
		if err := r.aggregate(ctx, "", asked.Gone); err != nil {
			return true, nil, err
		}
	}
}

// inTurn takes the steps when it is their turn, unless an urgent kick comes first: then the error says that they were
// cancelled.
func (r *kymaRun) inTurn(ctx workflow.Context) (look.Result, error) {
	turn, cancel := workflow.WithCancel(writing(ctx, kick.BackgroundQueue, "synchronize and resolve, when it is its turn"))
	defer cancel()
	future := workflow.ExecuteActivity(turn, r.looks.LookInBackground, look.Input{Ref: r.ref, Seen: r.versions()})
	if err := r.awaitUnless(ctx, future, cancel, func() bool { return r.mail.pending.Urgent }); err != nil {
		return look.Result{}, err
	}
	var res look.Result
	err := future.Get(ctx, &res)
	return res, err
}
