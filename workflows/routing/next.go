package routing

import (
	"go.temporal.io/sdk/workflow"
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
	due := r.IsDue(ctx)
	return decide(situation{
		Reconciled: r.reconciled, Pending: r.Box.Any(), Retry: !r.RetryAt.IsZero(), Due: due,
		MustContinue: r.MustContinue(ctx, !due), NewBuild: due && r.NewBuild(ctx),
	})
}

// sleepsFor says in words what a sleeping run waits for.
func (r *run) sleepsFor() string {
	if !r.RetryAt.IsZero() {
		return "the next attempt: " + r.Fault.Reason
	}
	return "the rate limit before the next reconcile"
}
