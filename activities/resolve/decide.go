package resolve

import (
	"cmp"
	"errors"

	"github.com/kyma-project/lifecycle-manager/activities/descriptor"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/signature"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// decide says for each entry what is to be done about its Manifest. The order of the questions matters: what
// forbids comes before what is built, and a refused entry keeps the Manifest that it has.
func (p *planning) decide() {
	for _, e := range p.entries {
		p.decideOne(e)
	}
}

func (p *planning) decideOne(e *entry) {
	if e.manifest != nil && !e.manifest.DeletionTimestamp.IsZero() {
		e.plan.Action = ActionWait
		e.plan.Manifest, e.plan.target = p.mended(e)
		return
	}
	if !e.module.IsManaged() {
		p.decideUnmanaged(e)
		return
	}
	remote := false
	if e.refusal == nil {
		remote, e.refusal = p.target(e)
	}
	if e.refusal == nil {
		e.refusal = p.checkInstalled(e, remote)
	}
	if e.refusal == nil {
		e.refusal = p.describe(e)
	}
	if e.refusal == nil && !remote {
		e.refusal = p.checkShared(e)
	}
	if e.refusal == nil && e.manifest == nil {
		before := p.foreignFor(e)
		if before != nil && desired.IsOrphan(before) && before.DeletionTimestamp.IsZero() {
			e.plan.orphan, e.plan.adopts = before, p.isThere(before, remote)
		} else if before != nil {
			// The Manifest of an earlier Kyma of this name is still going away; it makes room.
			e.plan.Action = ActionWait
			return
		}
	}
	var manifest *v1beta2.Manifest
	if e.refusal == nil {
		manifest, e.refusal = blueprint{
			kyma: p.Kyma, settings: p.Settings, sync: p.sync, choice: e.choice, descriptor: e.descriptor,
			name: p.nameFor(e), namespace: p.namespaceFor(e), remote: remote, mandatory: e.mandatory, fetch: p.DefaultCR,
		}.manifest()
	}
	switch {
	case e.refusal != nil:
		p.decideRefused(e)
	case e.manifest == nil:
		e.plan.Action, e.plan.Manifest, e.plan.target = ActionCreate, manifest, targetOf(manifest)
	case e.manifest.IsSkipReconciliation():
		e.plan.Action = ActionKeep
	case !differs(e.manifest, manifest):
		e.plan.Action, e.plan.target = ActionKeep, targetOf(manifest)
	case p.waitsForWindow(e):
		e.plan.Action = ActionKeep
	default:
		e.plan.Action, e.plan.Manifest, e.plan.target = ActionUpdate, manifest, targetOf(manifest)
	}
}

func (p *planning) decideRefused(e *entry) {
	switch {
	case e.manifest == nil:
		e.plan.Action = ActionNone
	case e.refusal.Remove && !e.manifest.IsSkipReconciliation():
		e.plan.Action = ActionRemove
	case e.refusal.Transient && e.manifest.Spec.Version == e.version && e.manifest.ComponentName() == e.component:
		// The registry does not answer, but the version that it would describe is the one that is there.
		e.refusal = nil
		e.plan.Action = ActionKeep
	default:
		e.plan.Action = ActionKeep
	}
}

// waitsForWindow tells whether an upgrade that needs a downtime has to wait for the Kyma's maintenance window. A
// first installation does not, nor does anything that leaves the version as it is.
func (p *planning) waitsForWindow(e *entry) bool {
	if !e.template.Spec.RequiresDowntime || p.Kyma.Spec.SkipMaintenanceWindows || p.Window == nil || e.manifest.Spec.Version == e.version {
		return false
	}
	wait := p.Window()
	if wait.Open {
		return false
	}
	e.plan.Window = &wait
	return true
}

// decideUnmanaged leaves everything of the module as it is and only marks its Manifest; a module that was
// never installed is not installed now.
func (p *planning) decideUnmanaged(e *entry) {
	e.refusal = nil
	if e.manifest == nil {
		e.plan.Action = ActionNone
		return
	}
	e.plan.Action = ActionKeep
	if !e.manifest.IsUnmanaged() && !e.manifest.IsSkipReconciliation() {
		e.plan.Action, e.plan.Manifest = ActionUpdate, unmanaged(e.manifest)
	}
}

// target says whether the module goes into the remote cluster (docs/contract.md#namespaces-and-defaults).
func (p *planning) target(e *entry) (remote bool, refusal *Refusal) {
	target := e.template.Spec.Target
	controlPlaneMode := p.Settings.Mode == desired.ModeControlPlane
	switch {
	case target == v1beta2.TargetRemote && !p.sync.Enabled && controlPlaneMode:
		return false, refuse(ReasonSyncDisabled,
			"module %s is for the remote cluster, but synchronization is switched off (spec.sync.enabled)", e.module.Name)
	case target != v1beta2.TargetControlPlane && p.sync.LocalClientRefused(p.Settings):
		return false, refuse(ReasonControlPlaneTarget,
			"module %s would be installed into the control plane by the strategy local-client, which is not allowed here", e.module.Name)
	case target != v1beta2.TargetControlPlane && p.sync.Enabled:
		return true, nil
	case controlPlaneMode && !p.Settings.AllowControlPlaneModules:
		return false, refuse(ReasonControlPlaneTarget,
			"module %s would be installed into the control plane, which is not allowed here", e.module.Name)
	default:
		return false, nil
	}
}

// checkInstalled refuses what must not be done to a module that is installed.
func (p *planning) checkInstalled(e *entry, remote bool) *Refusal {
	if e.manifest == nil {
		return nil
	}
	if component := e.manifest.ComponentName(); component != "" && component != e.component {
		return refuse(ReasonComponentChanged,
			"the component of module %s changed from %s to %s: remove the module before installing the other component",
			e.module.Name, component, e.component)
	}
	if desired.IsPlaced(e.manifest) && desired.InControlPlane(e.manifest) == remote {
		return refuse(ReasonTargetChanged,
			"module %s is installed in another cluster than the one it is for now: remove it there before", e.module.Name)
	}
	installed := e.manifest.Spec.Version
	if desired.IsEdited(e.manifest) {
		// Somebody's edit is no version that was installed.
		installed = e.manifest.Status.InstalledVersion
	}
	if p.Kyma.Annotations[desired.AnnotationAllowDowngrade] != shared.ValueTrue && isDowngrade(installed, e.version) {
		return warn(ReasonDowngrade, "%s", shared.IgnoredChannelSkew(
			orVersion(e.manifest.Labels[shared.LabelChannel], installed), orVersion(e.channel, e.version), installed)).
			hinted("version %s is lower than the installed %s: publish a newer version, remove and add the module, or allow it by the annotation %s=true on the Kyma",
				e.version, installed, desired.AnnotationAllowDowngrade)
	}
	return nil
}

// orVersion names the channel that decided, or the version where it was pinned.
func orVersion(channel, version string) string {
	if channel == "" {
		return version
	}
	return channel
}

// describe reads the descriptor and checks it against the template.
func (p *planning) describe(e *entry) *Refusal {
	described, err := p.Describe(e.template, e.component, e.version)
	if err != nil {
		refusal := refuse(ReasonInvalidDescriptor, "ModuleTemplate %s: %v", nameOf(e.template), err)
		switch {
		case errors.Is(err, signature.ErrSignature):
			refusal.Reason = ReasonSignature
		case !errors.Is(err, ErrDescriptor):
			refusal.Reason = ReasonDescriptorMissing
			if refusal.Transient = passes(err); !refusal.Transient {
				refusal.Elsewhere = "the component version in the registry"
			}
		}
		refusal.Err = err
		return refusal
	}
	if e.version == "" {
		e.version = described.Version
	}
	problems := descriptor.Validate(described, descriptor.Expectations{
		Version: e.version, Module: e.template.Spec.ModuleName, Component: e.component,
		Fetched: descriptor.IsEmpty(e.template.Spec.Descriptor),
	})
	if len(problems) > 0 {
		return refuse(reasonOf(problems), "ModuleTemplate %s: %v", nameOf(e.template), problems.ToAggregate())
	}
	e.descriptor = described
	return nil
}

// nameFor is the name of the Manifest that the entry has, or is to get.
func (p *planning) nameFor(e *entry) string {
	if e.manifest != nil {
		return e.manifest.Name
	}
	return p.manifestName(e)
}

// namespaceFor is the namespace of what names none. What is installed stays where it is, also when its Kyma moves
// to another namespace: moving it would delete and make anew what may hold its user's data.
func (p *planning) namespaceFor(e *entry) string {
	if e.sharedIn != "" {
		return e.sharedIn
	}
	if e.manifest == nil {
		return p.sync.Namespace
	}
	return cmp.Or(e.manifest.Annotations[desired.AnnotationRemoteNamespace], p.Settings.SyncNamespace)
}

// foreignFor is the Manifest of an earlier Kyma of this name that has the name of an entry's; nil where there is none.
func (p *planning) foreignFor(e *entry) *v1beta2.Manifest {
	name := p.manifestName(e)
	for i := range p.Foreign {
		if p.Foreign[i].Name == name {
			return &p.Foreign[i]
		}
	}
	return nil
}
