package kyma

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
)

// reconcile reconciles the Manifest once: it applies all missing objects. If the Manifest gets deleted in the
// meantime, the deletion interrupts the installation.
func (m *moduleRun) reconcile(ctx workflow.Context) error {
	pending, started := m.Start(ctx)
	m.state.Phase = phaseReconcile // the phase that the run carries if it ends meanwhile
	if done := m.installed; done != nil {
		m.installed = nil
		return m.applied(ctx, started, *done)
	}
	m.does(ctx, "installing: "+cmp.Or(pending.Reason, "started"))

	options := attempts.Writing
	if m.Background {
		options = attempts.Yielding
	}
	applyCtx, cancel := workflow.WithCancel(options(ctx, kick.RemoteQueue, m.Why("install or upgrade "+m.name())))
	defer cancel()
	future := workflow.ExecuteActivity(applyCtx, m.install.ApplyManifest, install.ApplyInput{Ref: m.Ref, Since: m.Since})
	if err := m.AwaitUnless(ctx, future, cancel, func() bool { return m.Box.Pending.Deleting }); err != nil {
		return err
	}
	var res install.ApplyResult
	err := future.Get(ctx, &res)
	if temporal.IsCanceledError(err) {
		if ctx.Err() != nil {
			return err
		}
		m.state.Phase = phaseRemove
		m.EndPart(ctx, started)
		return nil
	}
	if err != nil {
		return m.failed(ctx, started, fault.FromTemporal(err))
	}
	return m.applied(ctx, started, res)
}

// applied continues a reconcile according to the result of the installation.
func (m *moduleRun) applied(ctx workflow.Context, started time.Time, res install.ApplyResult) error {
	if res.Outcome != manifests.OutcomeIncomplete {
		m.Since = time.Time{}
	}
	m.state.InputsDigest, m.state.Module, m.state.Version = res.InputsDigest, res.Module, res.Version
	m.kyma.tell(res.Kick)
	switch res.Outcome {
	case manifests.OutcomeGone, manifests.OutcomeNotOurs:
		m.state.Phase = phaseEnded
	case manifests.OutcomeDeleting:
		m.state.Phase, m.state.Deleting = phaseRemove, true
	case manifests.OutcomeSkipped, manifests.OutcomeUnmanaged, manifests.OutcomeShared, manifests.OutcomeRefused:
		return m.finishReconcile(ctx, started, fault.Fault{}, res.Observed, true, phaseEnded)
	case manifests.OutcomeIncomplete:
		f := fault.Fault{Kind: fault.Transient, Reason: res.Observed.Reason, Message: res.Observed.Message}
		if f.Reason == readiness.ReasonApplyContinues {
			m.Attempt = 0 // there was progress
		}
		return m.finishReconcile(ctx, started, f, res.Observed, false, phaseRest)
	default:
		// ApplyManifest itself wrote this state into the status, together with the inventory.
		m.state.Phase, m.state.Shown = phaseFollow, false
		m.reported(ctx, res.Observed)
		if res.Judged {
			// The same reconcile has checked the module's health, so there is nothing to wait for.
			m.state.Phase, m.Attempt = phaseEnded, 0
		}
	}
	m.EndStep(ctx, started)
	return nil
}

// failed reports a failed step and schedules its retry, if there is one.
func (m *moduleRun) failed(ctx workflow.Context, started time.Time, f fault.Fault) error {
	settled := rejectedForGood(f) && !m.state.Deleting
	return m.finishReconcile(ctx, started, f, observedOf(f, m.state.Reported, m.state.Deleting), settled, phaseRest)
}

// leftRetry is the retry interval of a permanently failed removal whose Kyma is gone.
const leftRetry = 6 * time.Hour

// finishReconcile reports the result of the reconcile and ends it. If nothing is left to retry, the work on the
// module ends, settled or not: months of waiting for a cluster or a change must write no history.
func (m *moduleRun) finishReconcile(ctx workflow.Context, started time.Time, f fault.Fault, o readiness.Observed, settled bool, phase modulePhase) error {
	m.state.Phase = phase
	failure, err := m.report(ctx, o, settled)
	if err != nil {
		return err
	}
	if !failure.IsZero() {
		m.state.Phase, f = phaseRest, failure
	}
	m.End(ctx, started, f)
	switch {
	case m.state.Phase != phaseRest:
	case m.RetryAt.IsZero() && m.state.Deleting && m.kyma.gone():
		m.RetryAt = workflow.Now(ctx).Add(leftRetry + spread.Delay(leftRetry/4, m.ID)) // The sweep finds no Kyma to kick.
	case m.RetryAt.IsZero():
		m.state.Phase = phaseEnded
	case f.Kind == fault.Unreachable && m.kyma.probe(m) != nil:
		m.RetryAt = time.Time{} // The module is parked.
	}
	return nil
}

// report writes a state into the Manifest's status and tells the Kyma. It returns the fault if the write failed.
func (m *moduleRun) report(ctx workflow.Context, o readiness.Observed, settled bool) (fault.Fault, error) {
	in := manifests.ReportInput{Ref: m.Ref, Observed: o, InputsDigest: m.state.InputsDigest, Settled: settled}
	res, f, err := m.write(ctx, in)
	if err != nil || !f.IsZero() {
		return f, err
	}
	m.reported(ctx, o)
	switch {
	case res.Outcome == manifests.OutcomeGone:
		m.state.Phase = phaseEnded
	case res.Outcome == manifests.OutcomeDeleting && !m.state.Deleting:
		m.state.Phase, m.state.Deleting = phaseRemove, true
	}
	return fault.Fault{}, nil
}

// write writes a state into the Manifest's status. If the state is settled and the Kyma is resting, the Kyma's next
// report writes both statuses. Otherwise an activity writes only the Manifest's status, and kicks the Kyma.
func (m *moduleRun) write(ctx workflow.Context, in manifests.ReportInput) (manifests.ReportResult, fault.Fault, error) {
	if in.Settled && m.kyma.resting {
		if report, err := m.kyma.takeReport(ctx, in); err != nil || !report.declined {
			return report.wrote, report.fault, err
		}
	}
	var res manifests.ReportResult
	err := m.Do(ctx, kick.ControlPlaneQueue, "report that "+m.name()+" is "+string(in.Observed.State), &res, m.install.ReportManifest, in)
	if temporal.IsCanceledError(err) {
		return res, fault.Fault{}, err
	}
	if err == nil {
		m.kyma.tell(res.Kick)
	}
	return res, fault.FromTemporal(err), nil
}
