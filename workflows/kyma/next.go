package kyma

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/status"
)

// step is the next thing that a Kyma's run does.
type step string

const (
	stepReconcile step = "reconcile"
	stepReport    step = "report"
	stepRemove    step = "remove"
	stepSleep     step = "sleep"
	stepForget    step = "forget the kicks"
	stepContinue  step = "continue as new"
	stepComplete  step = "complete"
)

// situation holds everything that decide depends on.
type situation struct {
	Gone, Deleting, Reconciled bool
	// Pending is true if a kick waits to be acted on. Due is true if the kick or a retry is due.
	Pending, Due, OnlyManifests bool
	NeedsReconcile              bool
	// Reports is true if modules wait for the Kyma to write their states.
	Reports bool
	// Working is true while a module has work.
	Working                bool
	MustContinue, NewBuild bool
}

func (r *run) next(ctx workflow.Context) step {
	now := workflow.Now(ctx)
	isDue := r.IsDue(ctx)
	return decide(situation{
		Gone:           r.gone(),
		Deleting:       r.state.Deleting,
		Reconciled:     r.state.Reconciled,
		Pending:        r.Box.Any(),
		Working:        !r.isIdle(),
		Due:            isDue,
		OnlyManifests:  r.Box.Pending.Count > 0 && r.Box.Pending.OnlyManifests && !r.retryDue(now) && !r.LaterDue(now),
		Reports:        len(r.reports) > 0 && (r.Box.Pending.Count == 0 || r.Box.Pending.OnlyManifests), // a report answers these kicks
		NeedsReconcile: r.state.Last.NeedsReconcile && r.state.Last.ReconcileAt.IsZero(),
		MustContinue:   r.MustContinue(ctx, r.isQuiet() && !r.Local.Ran(now)),
		NewBuild:       isDue && r.NewBuild(ctx) || r.mustRenew(ctx),
	})
}

// decide returns the next step. A run completes first if its resource is gone and nothing is left to do. A run that
// should continue as new does so before it acts. Then comes the due step.
func decide(s situation) step {
	switch {
	case s.Gone && !s.Pending && !s.Working:
		return stepComplete
	case s.Reconciled && (s.MustContinue || s.NewBuild):
		return stepContinue
	case !s.Reconciled:
		return stepReconcile
	case s.Gone && s.OnlyManifests:
		return stepForget // There is no status to write any more.
	case s.Reports && !s.Gone && !s.Deleting && (!s.Due || s.OnlyManifests && !s.NeedsReconcile):
		return stepReport
	case !s.Due:
		return stepSleep
	case s.Gone:
		return stepReconcile
	case s.Deleting:
		return stepRemove
	case s.OnlyManifests && !s.NeedsReconcile:
		return stepReport
	default:
		return stepReconcile
	}
}

func (r *run) gone() bool {
	return r.state.Last.Outcome == status.OutcomeGone || r.state.Last.Outcome == status.OutcomeReleased
}

func (r *run) retryDue(now time.Time) bool {
	return !r.RetryAt.IsZero() && !r.RetryAt.After(now)
}
