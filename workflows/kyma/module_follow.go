package kyma

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
)

// follow waits until the observed state of the module differs from the last reported one, and reports it. A due kick
// interrupts the wait.
func (m *moduleRun) follow(ctx workflow.Context) error {
	m.waits(ctx, "the module to become ready")
	res, err := m.awaitNews(ctx)
	if err != nil || res == nil {
		return err
	}
	started := workflow.Now(ctx)
	if !res.Fault.IsZero() {
		return m.failed(ctx, started, res.Fault)
	}
	if res.Kick != nil {
		// The module has been waiting for long.
		m.state.Shown = true
		m.kyma.tell(res.Kick)
		return nil
	}
	seen := res.Observed
	if seen.DefaultCRWanted && m.state.Reported.Reason == readiness.ReasonModuleCRPending {
		return m.failed(ctx, started, fault.Fault{
			Kind: fault.Pending, Reason: "ModuleCRGone", Message: "the default custom resource was deleted after its creation",
		})
	}
	if seen.Reason == readiness.ReasonResourcesMissing {
		// Only a reconcile creates them again. Its backoff grows if they are deleted again each time.
		return m.failed(ctx, started, fault.Fault{Kind: fault.Pending, Reason: seen.Reason, Message: seen.Message})
	}
	if seen.DefaultCRWanted {
		return m.ensureDefaultCR(ctx, started, seen)
	}
	phase := phaseFollow
	switch {
	case settles(seen):
		phase = phaseEnded
	case seen.SameAs(m.state.Reported):
		// A wait should only end with news. If it ends without, back off before starting it again.
		return m.failed(ctx, started, fault.Fault{Kind: fault.Transient, Reason: "WaitEnded", Message: "the wait ended without news"})
	}
	return m.finishFollow(ctx, started, seen, phase)
}

// finishFollow reports what the wait observed. It is not a reconcile, so it does not change the pace.
func (m *moduleRun) finishFollow(ctx workflow.Context, started time.Time, seen readiness.Observed, phase modulePhase) error {
	m.state.Phase = phase
	failure, err := m.report(ctx, seen, phase == phaseEnded)
	if err != nil {
		return err
	}
	if !failure.IsZero() {
		m.state.Phase = phaseRest
		m.End(ctx, started, failure)
	} else {
		m.Attempt = 0
	}
	return nil
}

// ensureDefaultCR creates the module's default custom resource, once its operator is ready for it.
func (m *moduleRun) ensureDefaultCR(ctx workflow.Context, started time.Time, seen readiness.Observed) error {
	m.does(ctx, "creating the default custom resource")
	var now install.WaitResult
	err := workflow.ExecuteActivity(attempts.Writing(ctx, kick.RemoteQueue, m.Why("create the default custom resource of "+m.name())),
		m.install.EnsureDefaultCR, install.WaitInput{Ref: m.Ref, Reported: seen}).Get(ctx, &now)
	if temporal.IsCanceledError(err) {
		return err
	}
	if err != nil {
		// The wait found the resources ready.
		m.state.Reported.Ready, m.state.Reported.Total = seen.Ready, seen.Total
		return m.failed(ctx, started, fault.FromTemporal(err))
	}
	m.Attempt = 0
	m.kyma.tell(now.Kick)
	m.reported(ctx, now.Observed)
	return nil
}

// await runs a read-only wait until it answers or a kick is due. It returns true if the wait was interrupted: the
// caller must then ignore the answer. A wait that reaches its deadline counts as interrupted too, and the caller
// starts it again.
func (m *moduleRun) await(ctx workflow.Context, summary string, answer any, start func(workflow.Context) workflow.Future) (bool, error) {
	waitCtx, cancel := workflow.WithCancel(attempts.Waiting(ctx, summary))
	defer cancel()
	future := start(waitCtx)
	for !future.IsReady() {
		if err := m.sleep(ctx, func() bool { return future.IsReady() || m.kyma.stopping }); err != nil {
			return true, err
		}
		m.Drain()
		if m.kyma.stopping || m.IsDue(ctx) {
			return true, nil
		}
	}
	err := future.Get(ctx, answer)
	if attempts.DeadlinePassed(err) {
		return true, nil
	}
	return false, err
}
