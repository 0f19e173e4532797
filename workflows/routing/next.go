package routing

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/ending"
)

// step is what a run does next.
type step string

const (
	stepReconcile step = "reconcile"
	stepSleep     step = "sleep"
	stepContinue  step = "continue as new"
	stepComplete  step = "complete"
)

// situation is all that the decision depends on.
type situation struct {
	// Reconciled is true once the Watcher was reconciled.
	Reconciled bool
	// Pending is true when a kick waits to be acted on, Retry when a failed reconcile is to be retried, Due when the time of
	// either has come.
	Pending, Retry, Due    bool
	MustContinue, NewBuild bool
}

// decide decides. A run with nothing left to do ends; one that should continue as new does so before it acts.
func decide(s situation) step {
	switch {
	case !s.Reconciled:
		return stepReconcile
	case !s.Pending && !s.Retry:
		return stepComplete
	case s.MustContinue || s.NewBuild:
		return stepContinue
	case s.Due:
		return stepReconcile
	default:
		return stepSleep
	}
}

func (r *run) next(ctx workflow.Context) step {
	due, waits := r.wake(workflow.Now(ctx))
	isDue := waits && !due.After(workflow.Now(ctx))
	return decide(situation{
		Reconciled: r.reconciled, Pending: r.mail.Any(), Retry: !r.state.RetryAt.IsZero(), Due: isDue,
		MustContinue: ending.Must(ctx, r.mail, !isDue), NewBuild: isDue && ending.NewBuild(ctx, r.build),
	})
}

// wake is when the run has to act next: the earlier of its pending kicks and its retry.
func (r *run) wake(now time.Time) (time.Time, bool) {
	due, waits := r.state.Pace.Due(now, r.mail.Pending)
	if later, pending := r.state.Pace.Due(now, r.mail.Later); pending && (!waits || later.Before(due)) {
		due, waits = later, true
	}
	if retry := r.state.RetryAt; !retry.IsZero() && (!waits || retry.Before(due)) {
		due, waits = retry, true
	}
	return due, waits
}

// sleep waits until the run is due. A kick that does not make it due earlier leaves the timer as it is.
func (r *run) sleep(ctx workflow.Context) error {
	now := workflow.Now(ctx)
	due, _ := r.wake(now)
	waitsFor := "the rate limit before the next reconcile"
	if !r.state.RetryAt.IsZero() {
		waitsFor = "the next attempt: " + r.state.Fault.Reason
	}
	r.view.Do("waiting", now)
	r.view.WaitingFor = waitsFor
	workflow.SetCurrentDetails(ctx, r.view.Markdown())
	return attempts.For(ctx, due.Sub(now), fault.Shorten(waitsFor, attempts.MaxSummary), func() bool {
		r.mail.Drain()
		next, waits := r.wake(workflow.Now(ctx))
		return waits && next.Before(due) || r.mail.Forced && workflow.AllHandlersFinished(ctx)
	})
}
