package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/ending"
)

// kymaStep is what a Kyma's run does next.
type kymaStep string

const (
	kymaReconcile kymaStep = "reconcile"
	kymaReport    kymaStep = "report"
	kymaRemove    kymaStep = "remove"
	kymaSleep     kymaStep = "sleep"
	kymaForget    kymaStep = "forget the kicks"
	kymaContinue  kymaStep = "continue as new"
	kymaComplete  kymaStep = "complete"
)

// kymaSituation is all that the decision depends on.
type kymaSituation struct {
	Gone, Deleting, Reconciled bool
	// Pending is true when a kick waits to be acted on, Due when its time, or that of a retry, has come.
	Pending, Due, OnlyManifests bool
	NeedsReconcile              bool
	// Working is true while a module has work.
	Working                bool
	MustContinue, NewBuild bool
}

func (r *kymaRun) next(ctx workflow.Context) kymaStep {
	now := workflow.Now(ctx)
	isDue := r.isDue(ctx)
	return nextForKyma(kymaSituation{
		Gone:           r.gone(),
		Deleting:       r.state.Deleting,
		Reconciled:     r.state.Reconciled,
		Pending:        r.box.Any(),
		Working:        !r.isIdle(),
		Due:            isDue,
		OnlyManifests:  r.box.Pending.Count > 0 && r.box.Pending.OnlyManifests && !r.retryDue(now) && !r.laterDue(now),
		NeedsReconcile: r.state.Last.NeedsReconcile && r.state.Last.ReconcileAt.IsZero(),
		MustContinue:   ending.Must(ctx, r.mail, r.isQuiet() && !r.local.Ran(now)),
		NewBuild:       (isDue || r.renew) && ending.NewBuild(ctx, r.build),
	})
}

// nextForKyma decides. A run that cannot be wrong about its resource being gone ends first; one that
// should continue as new does so before it acts; then the due work, by what it is about.
func nextForKyma(s kymaSituation) kymaStep {
	switch {
	case s.Gone && !s.Pending && !s.Working:
		return kymaComplete
	case s.Reconciled && (s.MustContinue || s.NewBuild):
		return kymaContinue
	case !s.Reconciled:
		return kymaReconcile
	case s.Gone && s.OnlyManifests:
		return kymaForget // There is no status to write any more.
	case !s.Due:
		return kymaSleep
	case s.Gone:
		return kymaReconcile
	case s.Deleting:
		return kymaRemove
	case s.OnlyManifests && !s.NeedsReconcile:
		return kymaReport
	default:
		return kymaReconcile
	}
}

func (r *kymaRun) gone() bool {
	return r.state.Last.Outcome == status.OutcomeGone || r.state.Last.Outcome == status.OutcomeReleased
}

func (r *kymaRun) retryDue(now time.Time) bool {
	return !r.retryAt.IsZero() && !r.retryAt.After(now)
}
