package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
)

// remove takes one pass of the removal. A purge interrupts it.
func (r *manifestRun) remove(ctx workflow.Context) error {
	_, started := r.begin(ctx)
	r.doing(ctx, "removing the module")
	r.state.Deleting = true
	removeCtx, cancel := workflow.WithCancel(attempts.Writing(ctx, kick.RemoteQueue, "remove the module"))
	defer cancel()
	future := workflow.ExecuteActivity(removeCtx, r.uninstall.RemoveManifest, uninstall.RemoveInput{Ref: r.ref, Reported: r.state.Reported})
	if err := r.awaitUnless(ctx, future, cancel, func() bool { return r.mail.Pending.Purge }); err != nil {
		return err
	}
	var res uninstall.RemoveResult
	err := future.Get(ctx, &res)
	if temporal.IsCanceledError(err) {
		if ctx.Err() != nil {
			return err
		}
		r.state.Phase = phaseRemove
		r.endPart(ctx, started)
		return nil
	}
	if err != nil {
		return r.failed(ctx, started, fault.FromTemporal(err))
	}
	switch res.Outcome {
	case manifests.OutcomeWaiting:
		r.state.Phase = phaseFollowRemoval
		if !res.Observed.SameAs(r.state.Reported) {
			failure, err := r.report(ctx, res.Observed, false)
			if err != nil {
				return err
			}
			if !failure.IsZero() {
				r.state.Phase = phaseRest
				r.end(ctx, started, failure)
				return nil
			}
		}
	case manifests.OutcomeRefused:
		return r.finishReconcile(ctx, started, fault.Fault{}, res.Observed, true, phaseEnded)
	case manifests.OutcomeApplied:
		// Somebody saw a deletion timestamp, but this Manifest has none.
		r.state.Phase, r.state.Deleting = phaseReconcile, false
	default:
		r.state.Phase = phaseEnded
	}
	r.endStep(ctx, started)
	r.viewReported()
	return nil
}

// followRemoval waits until another pass of the removal makes sense.
func (r *manifestRun) followRemoval(ctx workflow.Context) error {
	r.waitingFor(ctx, orElse(r.state.Reported.Message, "the module to be removed"))
	var seen uninstall.RemoveResult
	interrupted, err := r.await(ctx, "wait for the removal", &seen, func(ctx workflow.Context) workflow.Future {
		return workflow.ExecuteActivity(ctx, r.uninstall.WaitRemoval, uninstall.RemoveInput{Ref: r.ref, Reported: r.state.Reported})
	})
	if interrupted {
		return err
	}
	if err != nil {
		return r.failed(ctx, workflow.Now(ctx), fault.FromTemporal(err))
	}
	r.attempt, r.state.Phase = 0, phaseRemove
	return nil
}
