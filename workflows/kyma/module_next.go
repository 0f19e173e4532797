package kyma

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// modulePhase is how far the work on a Manifest is.
type modulePhase string

const (
	// phaseReconcile: the Manifest has not been reconciled since the last change.
	phaseReconcile modulePhase = ""
	// phaseFollow: everything is applied; the module's health is followed.
	phaseFollow modulePhase = "Follow"
	// phaseRest: a step failed; the run waits for its retry.
	phaseRest modulePhase = "Rest"
	// phaseRemove: the next pass of the removal is due.
	phaseRemove modulePhase = "Remove"
	// phaseFollowRemoval: the removal waits for something in the cluster.
	phaseFollowRemoval modulePhase = "FollowRemoval"
	// phaseEnded: the Manifest has settled, is gone, or was released, or a step failed and is not tried again: then the sweep
	// kicks when the cluster answers.
	phaseEnded modulePhase = "Ended"
)

// moduleStep is what a Manifest's run does next.
type moduleStep string

const (
	moduleReconcile     moduleStep = "reconcile"
	moduleFollow        moduleStep = "follow"
	moduleRemove        moduleStep = "remove"
	modulePurge         moduleStep = "purge"
	moduleFollowRemoval moduleStep = "follow the removal"
	moduleSleep         moduleStep = "sleep"
	moduleEnd           moduleStep = "end"
)

// moduleSituation is all that the decision depends on.
type moduleSituation struct {
	Phase    modulePhase
	Deleting bool
	// Purging is true when what remains of the module is to be forced.
	Purging bool
	// Pending is true when a kick waits to be acted on, Due when its time, or that of a retry, has come.
	Pending, Due bool
}

func (m *moduleRun) next(ctx workflow.Context) moduleStep {
	return nextForModule(moduleSituation{
		Phase:    m.state.Phase,
		Deleting: m.state.Deleting || m.Box.Pending.Deleting,
		Purging:  m.state.Purging || m.Box.Pending.Purge,
		Pending:  m.Box.Any(),
		Due:      m.IsDue(ctx) || m.installed != nil,
	})
}

// nextForModule decides. The work on a settled module ends unless a kick came since its last reconcile. A due step comes before
// what was in progress.
func nextForModule(s moduleSituation) moduleStep {
	switch {
	case s.Phase == phaseEnded && !s.Pending:
		return moduleEnd
	case s.Due || s.Phase == phaseReconcile:
		if s.Purging {
			return modulePurge
		}
		if s.Deleting {
			return moduleRemove
		}
		return moduleReconcile
	case s.Phase == phaseFollow:
		return moduleFollow
	case s.Phase == phaseRemove:
		return moduleRemove
	case s.Phase == phaseFollowRemoval:
		return moduleFollowRemoval
	default:
		return moduleSleep
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
