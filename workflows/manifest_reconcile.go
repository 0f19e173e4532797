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
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// reconcile is one reconcile of the Manifest: whatever is missing in the cluster is applied. A Manifest that turns
// out to be under deletion while it is being applied interrupts the installation.
func (r *manifestRun) reconcile(ctx workflow.Context) error {
	pending, started := r.begin(ctx)
	r.doing(ctx, "installing: "+orElse(pending.Reason, "started"))

	applyCtx, cancel := workflow.WithCancel(attempts.Writing(ctx, kick.RemoteQueue, "install or upgrade the module"))
	defer cancel()
	future := workflow.ExecuteActivity(applyCtx, r.install.ApplyManifest, install.ApplyInput{Ref: r.ref, Since: r.since})
	if err := r.awaitUnless(ctx, future, cancel, func() bool { return r.mail.Pending.Deleting }); err != nil {
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

// applied continues a reconcile according to what it found.
func (r *manifestRun) applied(ctx workflow.Context, started time.Time, res install.ApplyResult) error {
	if res.Outcome != manifests.OutcomeIncomplete {
		r.since = time.Time{}
	}
	r.state.InputsDigest, r.state.Module, r.state.Version, r.state.Kyma = res.InputsDigest, res.Module, res.Version, res.Kyma
	if r.logic < logic.ModuleState {
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
		return r.finishReconcile(ctx, started, fault.Fault{}, res.Observed, true, phaseEnded)
	case manifests.OutcomeIncomplete:
		f := fault.Fault{Kind: fault.Transient, Reason: res.Observed.Reason, Message: res.Observed.Message}
		if f.Reason == readiness.ReasonApplyContinues {
			r.attempt = 0 // it made progress
		}
		return r.finishReconcile(ctx, started, f, res.Observed, false, phaseRest)
	default:
		// ApplyManifest wrote this into the status itself, together with the inventory.
		r.state.Phase, r.state.Reported = phaseFollow, res.Observed
		if res.Judged {
			// It has checked the module in the same reconcile, so there is nothing to wait for. No result in a history of
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

// failed reports a step that failed and waits for its retry, if there is one.
func (r *manifestRun) failed(ctx workflow.Context, started time.Time, f fault.Fault) error {
	settled := rejectedForGood(f) && !r.state.Deleting
	return r.finishReconcile(ctx, started, f, observedOf(f, r.state.Reported, r.state.Deleting), settled, phaseRest)
}

// finishReconcile reports the outcome of the reconcile and ends it. A run that has nothing to retry ends, settled or
// not: months of waiting for a cluster or for a change write no history.
func (r *manifestRun) finishReconcile(ctx workflow.Context, started time.Time, f fault.Fault, o readiness.Observed, settled bool, phase manifestPhase) error {
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

// report writes a state into the Manifest's status, which kicks the Kyma's workflow. It returns the fault of writing.
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

// publishState upserts for searches which module it is and what was last reported of it.
func (r *manifestRun) publishState(ctx workflow.Context) error {
	if r.logic < logic.ModuleState {
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
	if r.logic >= logic.ModuleState {
		attributes[kick.AttributeModuleState] = string(r.state.Reported.State)
	}
	return r.publish(ctx, attributes)
}

// viewReported copies what was last reported into what the query and the current details show.
func (r *manifestRun) viewReported() {
	r.view.State, r.view.Message = string(r.state.Reported.State), r.state.Reported.Message
	if r.state.Module != "" {
		r.view.Modules = []view.Row{{Name: r.state.Module, Version: r.state.Version, State: r.view.State, Message: r.view.Message}}
	}
}
