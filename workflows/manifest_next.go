package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// manifestPhase is how far the work on a Manifest is.
type manifestPhase string

const (
	// phaseReconcile: the Manifest has not been reconciled since the last change.
	phaseReconcile manifestPhase = ""
	// phaseFollow: everything is applied; the module's health is followed.
	phaseFollow manifestPhase = "Follow"
	// phaseRest: a step failed; the run waits for its retry.
	phaseRest manifestPhase = "Rest"
	// phaseRemove: the next pass of the removal is due.
	phaseRemove manifestPhase = "Remove"
	// phaseFollowRemoval: the removal waits for something in the cluster.
	phaseFollowRemoval manifestPhase = "FollowRemoval"
	// phaseEnded: the Manifest has settled, is gone, or was released, or a step failed and is not tried again:
	// then the sweep starts another run when the cluster answers.
	phaseEnded manifestPhase = "Ended"
)

// manifestStep is what a Manifest's run does next.
type manifestStep string

const (
	manifestReconcile     manifestStep = "reconcile"
	manifestFollow        manifestStep = "follow"
	manifestRemove        manifestStep = "remove"
	manifestPurge         manifestStep = "purge"
	manifestFollowRemoval manifestStep = "follow the removal"
	manifestSleep         manifestStep = "sleep"
	manifestContinue      manifestStep = "continue as new"
	manifestComplete      manifestStep = "complete"
)

// manifestSituation is all that the decision depends on.
type manifestSituation struct {
	Phase    manifestPhase
	Deleting bool
	// Purging is true when what remains of the module is to be forced.
	Purging bool
	// Pending is true when a kick waits to be acted on, Due when its time, or that of a retry, has come.
	Pending, Due           bool
	MustContinue, NewBuild bool
}

func (r *manifestRun) next(ctx workflow.Context) manifestStep {
	isDue := r.isDue(ctx)
	return nextForManifest(manifestSituation{
		Phase:        r.state.Phase,
		Deleting:     r.state.Deleting || r.mail.Pending.Deleting,
		Purging:      r.state.Purging || r.mail.Pending.Purge,
		Pending:      r.mail.Any(),
		Due:          isDue,
		MustContinue: r.mustContinue(ctx, !isDue),
		NewBuild:     isDue && r.newBuild(ctx),
	})
}

// nextForManifest decides. A run that has settled ends unless a kick came since its last reconcile; one that
// should continue as new does so before it acts; what is due comes before what was in progress.
func nextForManifest(s manifestSituation) manifestStep {
	switch {
	case s.Phase == phaseEnded && !s.Pending:
		return manifestComplete
	case s.Phase != phaseReconcile && (s.MustContinue || s.NewBuild):
		return manifestContinue
	case s.Due || s.Phase == phaseReconcile:
		if s.Purging {
			return manifestPurge
		}
		if s.Deleting {
			return manifestRemove
		}
		return manifestReconcile
	case s.Phase == phaseFollow:
		return manifestFollow
	case s.Phase == phaseRemove:
		return manifestRemove
	case s.Phase == phaseFollowRemoval:
		return manifestFollowRemoval
	default:
		return manifestSleep
	}
}

// rejectedForGood tells whether a fault stays as long as the Manifest's own inputs stay as they are. A refused
// access to the cluster does not, nor one that leads to another cluster: the Secret is an input of the Kyma.
func rejectedForGood(f fault.Fault) bool {
	return f.Kind == fault.Rejected && f.Reason != clusters.ReasonKubeconfigRejected && f.Reason != clusters.ReasonAccessSecretAmbiguous &&
		f.Reason != clusters.ReasonClusterChanged && f.Reason != clusters.ReasonControlPlaneAccess
}

// settles tells whether a module in this state needs no more work until something changes.
func settles(o readiness.Observed) bool {
	return !o.DefaultCRWanted && (o.State == shared.StateReady || o.State == shared.StateWarning)
}

// observedOf is what the status is to say after a step failed. What cannot succeed without a change is an
// error of the module; a cluster that cannot be reached says nothing about the module, so its last known
// state stays.
func observedOf(f fault.Fault, last readiness.Observed, deleting bool) readiness.Observed {
	o := readiness.Observed{State: shared.StateError, Reason: f.Reason, Message: f.Message, Hint: f.Hint, Ready: last.Ready, Total: last.Total}
	switch {
	case deleting:
		o.State = shared.StateDeleting
	case f.Kind == fault.Unreachable && last.State != "":
		o.State, o.Unreachable = last.State, true
	case f.Kind == fault.Unreachable, f.Kind == fault.Pending:
		o.State = shared.StateProcessing
	}
	return o
}
