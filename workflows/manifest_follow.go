package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
)

// follow watches the module until what is seen differs from what was last reported, and reports it. Kicks
// that are due interrupt it.
func (r *manifestRun) follow(ctx workflow.Context) error {
	r.waitingFor(ctx, "the module to become ready")
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
			Kind: fault.Pending, Reason: "ModuleCRGone", Message: "the default custom resource is gone after it was created",
		})
	}
	if seen.Reason == readiness.ReasonResourcesMissing {
		// Only a reconcile creates them again. Its pace slows down where they are deleted again each time.
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
		// A wait ends when there is news. Should one ever end without, it must not be started again at once.
		return r.failed(ctx, started, fault.Fault{Kind: fault.Transient, Reason: "WaitEnded", Message: "the wait ended without news"})
	}
	return r.finishFollow(ctx, started, seen, phase)
}

// finishFollow reports what the wait saw. It is no reconcile of its own, so it changes nothing about the pace.
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

// ensureDefaultCR creates the module's default custom resource, once its operator is ready for it.
func (r *manifestRun) ensureDefaultCR(ctx workflow.Context, started time.Time, seen readiness.Observed) error {
	r.doing(ctx, "creating the default custom resource")
	var now readiness.Observed
	err := workflow.ExecuteActivity(attempts.Writing(ctx, kick.RemoteQueue, "create the default custom resource"),
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

// await runs a read-only wait until it answers or a kick is due. Interrupted means that its answer, if
// any, does not count. So does the end of its deadline: the wait is then started again.
func (r *manifestRun) await(ctx workflow.Context, summary string, answer any, start func(workflow.Context) workflow.Future) (bool, error) {
	waitCtx, cancel := workflow.WithCancel(attempts.Waiting(ctx, summary))
	defer cancel()
	future := start(waitCtx)
	for !future.IsReady() {
		if err := r.sleep(ctx, future.IsReady); err != nil {
			return true, err
		}
		r.mail.Drain()
		if r.mayContinue(ctx) || r.isDue(ctx) {
			return true, nil
		}
	}
	err := future.Get(ctx, answer)
	if attempts.DeadlinePassed(err) {
		return true, nil
	}
	return false, err
}
