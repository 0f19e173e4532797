package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
)

// look is one look at the Manifest: whatever is missing in the cluster is applied. A Manifest that turns
// out to be under deletion while it is being applied interrupts the installation.
func (r *manifestRun) look(ctx workflow.Context) error {
	pending, started := r.begin(ctx)
	r.doing(ctx, "installing: "+orElse(pending.Reason, "started"))

	applyCtx, cancel := workflow.WithCancel(writing(ctx, kick.RemoteQueue, "install or upgrade the module"))
	defer cancel()
	future := workflow.ExecuteActivity(applyCtx, r.install.ApplyManifest, install.ApplyInput{Ref: r.ref})
	if err := r.awaitUnless(ctx, future, cancel, func() bool { return r.mail.pending.Deleting }); err != nil {
		return err
	}
	var res install.ApplyResult
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
	return r.applied(ctx, started, res)
}

// applied goes on after a look according to what it found.
func (r *manifestRun) applied(ctx workflow.Context, started time.Time, res install.ApplyResult) error {
	r.state.InputsDigest, r.state.Module, r.state.Version, r.state.Kyma = res.InputsDigest, res.Module, res.Version, res.Kyma
	if r.logic < logicModuleState {
		if err := r.publishModule(ctx); err != nil {
			return err
		}
	}
	switch res.Outcome {
	case manifests.OutcomeGone, manifests.OutcomeNotOurs:
		r.state.Phase = phaseEnded
	case manifests.OutcomeDeleting:
		r.state.Phase, r.state.Deleting = phaseRemove, true
	case manifests.OutcomeSkipped, manifests.OutcomeUnmanaged, manifests.OutcomeShared, manifests.OutcomeRefused:
		return r.finishLook(ctx, started, fault.Fault{}, res.Observed, true, phaseEnded)
	case manifests.OutcomeIncomplete:
		f := fault.Fault{Kind: fault.Transient, Reason: res.Observed.Reason, Message: res.Observed.Message}
		if f.Reason == readiness.ReasonApplyGoesOn {
			r.attempt = 0 // it came on
		}
		return r.finishLook(ctx, started, f, res.Observed, false, phaseRest)
	default:
		// ApplyManifest wrote this into the status itself, together with the inventory.
		r.state.Phase, r.state.Reported = phaseFollow, res.Observed
		if res.Judged {
			// It saw in the same look how the module is, so there is nothing to wait for. No result in a history of
			// an earlier release says so.
			r.state.Phase, r.attempt = phaseEnded, 0
		}
		if err := r.publishState(ctx); err != nil {
			return err
		}
	}
	r.endStep(ctx, started)
	r.viewReported()
	return nil
}

// failed reports a step that failed and rests until its retry, if there is to be one.
func (r *manifestRun) failed(ctx workflow.Context, started time.Time, f fault.Fault) error {
	settled := rejectedForGood(f) && !r.state.Deleting
	return r.finishLook(ctx, started, f, observedOf(f, r.state.Reported, r.state.Deleting), settled, phaseRest)
}

// finishLook reports what the look came to and closes it. A run that has nothing to try again ends, settled or
// not: months of waiting for a cluster or for a change write no history.
func (r *manifestRun) finishLook(ctx workflow.Context, started time.Time, f fault.Fault, o readiness.Observed, settled bool, phase manifestPhase) error {
	r.state.Phase = phase
	failure, err := r.report(ctx, o, settled)
	if err != nil {
		return err
	}
	if !failure.IsZero() {
		r.state.Phase, f = phaseRest, failure
	}
	r.end(ctx, started, f)
	if r.state.Phase == phaseRest && r.retryAt.IsZero() {
		r.state.Phase = phaseEnded
	}
	r.viewReported()
	return nil
}

// report writes a state into the Manifest's status, and the Kyma's workflow hears of it. It returns the
// fault of writing.
func (r *manifestRun) report(ctx workflow.Context, o readiness.Observed, settled bool) (fault.Fault, error) {
	var res manifests.ReportResult
	err := r.do(ctx, kick.ControlPlaneQueue, "report "+string(o.State), &res, r.steps.ReportManifest,
		manifests.ReportInput{Ref: r.ref, Observed: o, InputsDigest: r.state.InputsDigest, Settled: settled})
	if temporal.IsCanceledError(err) {
		return fault.Fault{}, err
	}
	if err != nil {
		return fault.FromTemporal(err), nil
	}
	r.state.Reported = o
	switch {
	case res.Outcome == manifests.OutcomeGone:
		r.state.Phase = phaseEnded
	case res.Outcome == manifests.OutcomeDeleting && !r.state.Deleting:
		r.state.Phase, r.state.Deleting = phaseRemove, true
	}
	return fault.Fault{}, r.publishState(ctx)
}

// follow watches the module until what is seen differs from what was last reported, and reports it. Kicks
// that are due interrupt it.
func (r *manifestRun) follow(ctx workflow.Context) error {
	r.waitingFor(ctx, "the module to become ready")
	r.show(ctx)
	var seen readiness.Observed
	interrupted, err := r.await(ctx, "wait for the module", &seen, func(ctx workflow.Context) workflow.Future {
		return workflow.ExecuteActivity(ctx, r.install.WaitManifest, install.WaitInput{Ref: r.ref, Reported: r.state.Reported})
	})
	if interrupted {
		return err
	}
	started := workflow.Now(ctx)
	if err != nil {
		return r.failed(ctx, started, fault.FromTemporal(err))
	}
	if seen.DefaultCRWanted && r.state.Reported.Reason == readiness.ReasonModuleCRPending {
		return r.failed(ctx, started, fault.Fault{
			Kind: fault.Pending, Reason: "ModuleCRGone", Message: "the default custom resource is gone after it was made",
		})
	}
	if seen.Reason == readiness.ReasonResourcesMissing {
		// Only a look makes them again. Its pace slows down where they are deleted again each time.
		return r.failed(ctx, started, fault.Fault{Kind: fault.Pending, Reason: seen.Reason, Message: seen.Message})
	}
	if seen.DefaultCRWanted {
		return r.ensureDefaultCR(ctx, started, seen)
	}
	phase := phaseFollow
	switch {
	case settles(seen):
		phase = phaseEnded
	case seen.SameAs(r.state.Reported):
		// A wait ends when there is news. Should one ever end without, it must not be begun again at once.
		return r.failed(ctx, started, fault.Fault{Kind: fault.Transient, Reason: "NoNews", Message: "the wait ended without news"})
	}
	return r.finishFollow(ctx, started, seen, phase)
}

// finishFollow reports what the wait saw. It is no look of its own, so it changes nothing about the pace.
func (r *manifestRun) finishFollow(ctx workflow.Context, started time.Time, seen readiness.Observed, phase manifestPhase) error {
	r.state.Phase = phase
	failure, err := r.report(ctx, seen, phase == phaseEnded)
	if err != nil {
		return err
	}
	if !failure.IsZero() {
		r.state.Phase = phaseRest
		r.end(ctx, started, failure)
	} else {
		r.attempt = 0
	}
	r.viewReported()
	return nil
}

// ensureDefaultCR makes the module's default custom resource, once its operator is ready for it.
func (r *manifestRun) ensureDefaultCR(ctx workflow.Context, started time.Time, seen readiness.Observed) error {
	r.doing(ctx, "making the default custom resource")
	var now readiness.Observed
	err := workflow.ExecuteActivity(writing(ctx, kick.RemoteQueue, "make the default custom resource"),
		r.install.EnsureDefaultCR, install.WaitInput{Ref: r.ref, Reported: seen}).Get(ctx, &now)
	if temporal.IsCanceledError(err) {
		return err
	}
	if err != nil {
		// The resources were seen to be ready.
		r.state.Reported.Ready, r.state.Reported.Total = seen.Ready, seen.Total
		return r.failed(ctx, started, fault.FromTemporal(err))
	}
	r.attempt, r.state.Reported = 0, now
	r.viewReported()
	return r.publishState(ctx)
}

// remove takes one pass of the removal. A purge interrupts it.
func (r *manifestRun) remove(ctx workflow.Context) error {
	_, started := r.begin(ctx)
	r.doing(ctx, "removing the module")
	r.state.Deleting = true
	removeCtx, cancel := workflow.WithCancel(writing(ctx, kick.RemoteQueue, "remove the module"))
	defer cancel()
	future := workflow.ExecuteActivity(removeCtx, r.uninstall.RemoveManifest, uninstall.RemoveInput{Ref: r.ref, Reported: r.state.Reported})
	if err := r.awaitUnless(ctx, future, cancel, func() bool { return r.mail.pending.Purge }); err != nil {
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
		return r.finishLook(ctx, started, fault.Fault{}, res.Observed, true, phaseEnded)
	case manifests.OutcomeApplied:
		// Somebody saw a deletion timestamp, but this Manifest has none.
		r.state.Phase, r.state.Deleting = phaseLook, false
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
	r.show(ctx)
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

// await runs a read-only wait until it answers or a kick is due. Interrupted means that its answer, if
// any, does not count. So does the end of its deadline: the wait is then begun anew.
func (r *manifestRun) await(ctx workflow.Context, summary string, answer any, start func(workflow.Context) workflow.Future) (bool, error) {
	waitCtx, cancel := workflow.WithCancel(waiting(ctx, summary))
	defer cancel()
	future := start(waitCtx)
	for !future.IsReady() {
		if err := r.sleep(ctx, future.IsReady); err != nil {
			return true, err
		}
		r.mail.drain()
		if r.mustLeave(ctx) || r.isDue(ctx) {
			return true, nil
		}
	}
	err := future.Get(ctx, answer)
	if deadlinePassed(err) {
		return true, nil
	}
	return false, err
}

// publishState upserts for searches which module it is and what was last reported of it.
func (r *manifestRun) publishState(ctx workflow.Context) error {
	if r.logic < logicModuleState {
		return nil
	}
	return r.publishModule(ctx)
}

func (r *manifestRun) publishModule(ctx workflow.Context) error {
	attributes := map[string]string{
		kick.AttributeKymaName:      r.state.Kyma,
		kick.AttributeModuleName:    r.state.Module,
		kick.AttributeModuleVersion: r.state.Version,
	}
	if r.logic >= logicModuleState {
		attributes[kick.AttributeModuleState] = string(r.state.Reported.State)
	}
	return r.publish(ctx, attributes)
}

// viewReported copies what was last reported into what the query and the current details show.
func (r *manifestRun) viewReported() {
	r.view.State, r.view.Message = string(r.state.Reported.State), r.state.Reported.Message
	if r.state.Module != "" {
		r.view.Modules = []Row{{Name: r.state.Module, Version: r.state.Version, State: r.view.State, Message: r.view.Message}}
	}
}
