package kyma

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// modulePhase is the progress of the work on a Manifest.
type modulePhase string

const (
	// phaseReconcile: the Manifest has not been reconciled since the last change.
	phaseReconcile modulePhase = ""
	// phaseFollow: all resources are applied, and the run watches the module's health.
	phaseFollow modulePhase = "Follow"
	// phaseRest: a step failed, and the module waits for its retry.
	phaseRest modulePhase = "Rest"
	// phaseRemove: the next pass of the removal is due.
	phaseRemove modulePhase = "Remove"
	// phaseFollowRemoval: the removal waits for a change in the cluster.
	phaseFollowRemoval modulePhase = "FollowRemoval"
	// phaseEnded: the Manifest has settled, is gone or was released, or a step failed and is not retried. In the last
	// case the sweep kicks when the cluster answers.
	phaseEnded modulePhase = "Ended"
)

// moduleStep is the next step for a Manifest.
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

// moduleSituation holds everything that nextForModule depends on.
type moduleSituation struct {
	Phase    modulePhase
	Deleting bool
	// Purging is true if the module has to be purged.
	Purging bool
	// Pending is true if a kick waits to be acted on. Due is true if the kick or a retry is due.
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

// nextForModule returns the next step. The work on a settled module ends unless a kick arrived since its last
// reconcile. A due step interrupts waits.
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

// rejectedForGood reports whether a fault persists as long as the Manifest's own inputs stay the same. A refused
// access to the cluster, or access to a wrong cluster, does not persist: the Secret is an input of the Kyma.
func rejectedForGood(f fault.Fault) bool {
	return f.Kind == fault.Rejected && f.Reason != clusters.ReasonKubeconfigRejected && f.Reason != clusters.ReasonAccessSecretAmbiguous &&
		f.Reason != clusters.ReasonClusterChanged && f.Reason != clusters.ReasonControlPlaneAccess
}

// settles reports whether a module in this state needs no more work until something changes.
func settles(o readiness.Observed) bool {
	return !o.DefaultCRWanted && (o.State == shared.StateReady || o.State == shared.StateWarning)
}

// observedOf returns the state to report after a step failed. A rejected step is an error of the module. An
// unreachable cluster says nothing about the module, so the last known state stays.
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
