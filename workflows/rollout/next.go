package rollout

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"
)

// rejectedWait is when a step is taken again that cannot succeed without a change.
const rejectedWait = time.Hour

// step is what a run does next.
type step string

const (
	stepAdvance  step = "advance"
	stepSleep    step = "sleep"
	stepContinue step = "continue as new"
	stepComplete step = "complete"
)

// situation is all that the decision depends on.
type situation struct {
	// Evaluated is true once a step was taken, Over when that found that nothing more is to be done.
	Evaluated, Over bool
	// Pending is true when a kick waits to be acted on, Due when it is time for a step.
	Pending, Due           bool
	MustContinue, NewBuild bool
}

// decide decides. A run with nothing left to do ends; one that should continue as new does so before it acts.
func decide(s situation) step {
	switch {
	case !s.Evaluated:
		return stepAdvance
	case s.Over && !s.Pending:
		return stepComplete
	case s.MustContinue || s.NewBuild:
		return stepContinue
	case s.Due:
		return stepAdvance
	default:
		return stepSleep
	}
}

func (r *run) next(ctx workflow.Context) step {
	due := r.IsDue(ctx)
	return decide(situation{
		Evaluated: r.evaluated, Over: r.Fault.IsZero() && (r.last.Gone || r.last.Ended), Pending: r.Box.Any(), Due: due,
		MustContinue: r.MustContinue(ctx, !due), NewBuild: due && r.NewBuild(ctx),
	})
}

// forever is how long a run sleeps that only a kick can wake.
const forever = 365 * 24 * time.Hour

// sleepsFor says in words what a sleeping run waits for.
func (r *run) sleepsFor() string {
	switch {
	case !r.Fault.IsZero():
		return "the next attempt: " + r.Fault.Reason
	case r.Box.Any():
		return "the rate limit before the next step"
	default:
		return cmp.Or(r.last.WaitsFor, "a change")
	}
}
