package rollout

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/ending"
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
	due, waits := r.wake()
	isDue := waits && !due.After(workflow.Now(ctx))
	last := r.state.Last
	return decide(situation{
		Evaluated: r.evaluated, Over: r.state.Fault.IsZero() && (last.Gone || last.Ended), Pending: r.mail.Any(), Due: isDue,
		MustContinue: ending.Must(ctx, r.mail, !isDue), NewBuild: isDue && ending.NewBuild(ctx, r.build),
	})
}

// wake is when the run has to act next; false where only a kick can wake it.
func (r *run) wake() (time.Time, bool) {
	due, waits := r.state.StepAt, !r.state.StepAt.IsZero()
	switch {
	case r.mail.Any() && r.mail.Pending.Urgent:
		return time.Time{}, true
	case r.mail.Any() && (!waits || r.state.NotBefore.Before(due)):
		due, waits = r.state.NotBefore, true
	case waits && due.Before(r.state.NotBefore):
		due = r.state.NotBefore
	}
	return due, waits
}

// forever is how long a run sleeps that only a kick can wake.
const forever = 365 * 24 * time.Hour

// sleep waits until the run is due. A kick that does not make it due earlier leaves the timer as it is.
func (r *run) sleep(ctx workflow.Context) error {
	now := workflow.Now(ctx)
	due, waits := r.wake()
	if !waits {
		due = now.Add(forever)
	}
	waitsFor := cmp.Or(r.state.Last.WaitsFor, "a change")
	switch {
	case !r.state.Fault.IsZero():
		waitsFor = "the next attempt: " + r.state.Fault.Reason
	case r.mail.Any():
		waitsFor = "the rate limit before the next step"
	}
	r.view.Do("waiting", now)
	r.view.WaitingFor = waitsFor
	workflow.SetCurrentDetails(ctx, r.view.Markdown())
	return attempts.For(ctx, due.Sub(now), fault.Shorten(waitsFor, attempts.MaxSummary), func() bool {
		r.mail.Drain()
		next, waits := r.wake()
		return waits && next.Before(due) || r.mail.Forced && workflow.AllHandlersFinished(ctx)
	})
}
