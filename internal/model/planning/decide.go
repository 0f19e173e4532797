package planning

import (
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// decide decides for each entry what to do about its Manifest. The order of the checks matters: prohibitions come
// before anything is built, and a refused entry keeps its Manifest.
func (p *planner) decide() {
	for _, e := range p.entries {
		p.decideOne(e)
		e.plan.HeldBack = heldBack(e)
		if e.manifest != nil {
			p.keepAsInCatalog(e)
		}
		if e.plan.Manifest != nil && !e.plan.Manifest.IsUnmanaged() {
			e.plan.Record = p.record(e.plan.Manifest)
		}
	}
}

// record returns the entry for Kyma.status.planned (package planned) of a planned Manifest.
func (p *planner) record(m *v1beta2.Manifest) *v1beta2.PlannedManifest {
	return new(planned.Record(m, p.Signed))
}

func (p *planner) decideOne(e *entry) {
	if e.manifest != nil && !e.manifest.DeletionTimestamp.IsZero() {
		e.plan.Action = ActionWait
		e.plan.Manifest, e.plan.Destination = p.upgradeInRemoval(e)
		return
	}
	if !e.Module.IsManaged() {
		p.decideUnmanaged(e)
		return
	}
	remote := false
	if e.Refusal == nil {
		remote, e.Refusal = p.target(e)
	}
	if e.Refusal == nil {
		e.Refusal = p.checkInstalled(e, remote)
	}
	if e.Refusal == nil {
		e.Refusal = p.describe(e)
	}
	if e.Refusal == nil && !remote {
		e.Refusal = p.checkShared(e)
	}
	if e.Refusal == nil && e.manifest == nil {
		before := p.foreignFor(e)
		if before != nil && desired.IsOrphan(before) && before.DeletionTimestamp.IsZero() {
			e.plan.Orphan, e.plan.Adopts = before, p.isThere(before, remote)
		} else if before != nil {
			// The Manifest of an earlier Kyma of this name is still being deleted; wait for it.
			e.plan.Action = ActionWait
			return
		}
	}
	var manifest *v1beta2.Manifest
	if e.Refusal == nil {
		manifest, e.Refusal = p.manifestFor(e, remote)
	}
	switch {
	case e.Refusal != nil:
	case e.manifest != nil:
		keepForm(e.manifest, manifest)
	default:
		e.Refusal = p.oneMore(e)
	}
	switch {
	case e.Refusal != nil:
		p.decideRefused(e)
	case e.manifest == nil:
		e.plan.Action, e.plan.Manifest, e.plan.Destination = ActionCreate, manifest, destinationOf(manifest)
	case e.manifest.IsSkipReconciliation():
		e.plan.Action = ActionKeep
	case !Differs(e.manifest, manifest):
		e.plan.Action, e.plan.Destination, e.plan.Record = ActionKeep, destinationOf(manifest), p.record(manifest)
	case p.isDeferred(e):
		e.plan.Action, e.plan.Deferred = ActionKeep, newDeferred(e.Version, e.Deferral.Until, p.Now)
	case p.waitsForWindow(e):
		e.plan.Action = ActionKeep
	default:
		e.plan.Action, e.plan.Manifest, e.plan.Destination = ActionUpdate, manifest, destinationOf(manifest)
	}
}

func (p *planner) decideRefused(e *entry) {
	switch {
	case e.manifest == nil:
		e.plan.Action = ActionNone
	case e.Refusal.Remove && !e.manifest.IsSkipReconciliation():
		e.plan.Action = ActionRemove
	case e.Refusal.Transient && e.manifest.Spec.Version == e.Version && e.manifest.ComponentName() == e.component:
		// The registry does not answer, but the version that its descriptor is for is already installed.
		e.Refusal = nil
		e.plan.Action = ActionKeep
	default:
		e.plan.Action = ActionKeep
	}
}

// heldBack says why a mandatory module does not get the version of a rollout; nil if it gets it.
func heldBack(e *entry) *rollout.HeldBack {
	if !e.mandatory || !e.InRollout || e.manifest == nil || e.manifest.Spec.Version == e.Version {
		return nil
	}
	switch {
	case e.plan.Window != nil:
		return &rollout.HeldBack{Version: e.Version, Waits: true}
	case e.Refusal != nil && !e.Refusal.Transient:
		return &rollout.HeldBack{Version: e.Version, Reason: e.Refusal.Reason, Message: e.Refusal.Message}
	default:
		return nil
	}
}

// isDeferred reports whether an upgrade waits because the Kyma's owner deferred it.
func (p *planner) isDeferred(e *entry) bool {
	return e.manifest.Spec.Version != e.Version && p.Now.Before(e.Deferral.Until)
}

// waitsForWindow reports whether an upgrade must wait for the Kyma's maintenance window: it needs a downtime, or it
// could not be deferred any longer. First installations and changes within a version never wait.
func (p *planner) waitsForWindow(e *entry) bool {
	if !e.Template.Spec.RequiresDowntime && !e.Deferral.InWindow || p.Kyma.Spec.SkipMaintenanceWindows || p.Window == nil || e.manifest.Spec.Version == e.Version {
		return false
	}
	wait := p.Window()
	if wait.Open {
		return false
	}
	e.plan.Window = &wait
	return true
}

// decideUnmanaged leaves the module as it is and only marks its Manifest. It does not install a module that was never
// installed.
func (p *planner) decideUnmanaged(e *entry) {
	e.Refusal = nil
	if e.manifest == nil {
		e.plan.Action = ActionNone
		return
	}
	e.plan.Action = ActionKeep
	if !e.manifest.IsUnmanaged() && !e.manifest.IsSkipReconciliation() {
		e.plan.Action, e.plan.Manifest = ActionUpdate, unmanaged(e.manifest)
	}
}
