package planning

import (
	"cmp"
	"errors"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
)

// target returns whether the module goes into the remote cluster (docs/contract.md#namespaces-and-defaults).
func (p *planner) target(e *entry) (remote bool, refusal *versions.Refusal) {
	target := e.Template.Spec.Target
	controlPlaneMode := p.Settings.Mode == desired.ModeControlPlane
	switch {
	case target == v1beta2.TargetRemote && !p.sync.Enabled && controlPlaneMode:
		return false, versions.Refuse(versions.ReasonSyncDisabled,
			"module %s is for the remote cluster, but synchronization is switched off (spec.sync.enabled)", e.Module.Name)
	case target != v1beta2.TargetControlPlane && p.sync.LocalClientRefused(p.Settings):
		return false, versions.Refuse(desired.ReasonControlPlaneTarget,
			"module %s would be installed into the control plane by the strategy local-client, which is not allowed here", e.Module.Name)
	case target != v1beta2.TargetControlPlane && p.sync.Enabled:
		return true, nil
	case controlPlaneMode && !p.Settings.AllowControlPlaneModules:
		return false, versions.Refuse(desired.ReasonControlPlaneTarget,
			"module %s would be installed into the control plane, which is not allowed here", e.Module.Name)
	default:
		return false, nil
	}
}

// checkInstalled refuses changes that an installed module must not get.
func (p *planner) checkInstalled(e *entry, remote bool) *versions.Refusal {
	if e.manifest == nil {
		return nil
	}
	if component := e.manifest.ComponentName(); component != "" && component != e.component {
		return versions.Refuse(versions.ReasonComponentChanged,
			"the component of module %s changed from %s to %s: remove the module before installing the other component",
			e.Module.Name, component, e.component)
	}
	if desired.IsPlaced(e.manifest) && desired.InControlPlane(e.manifest) == remote {
		return versions.Refuse(versions.ReasonTargetChanged,
			"module %s is installed in a different cluster than its present target: remove it there first", e.Module.Name)
	}
	installed := installedVersion(e.manifest)
	allowed := e.TakesBack || p.Kyma.Annotations[desired.AnnotationAllowDowngrade] == shared.ValueTrue
	if !allowed && versions.IsDowngrade(installed, e.Version) {
		return versions.Warn(versions.ReasonDowngrade, "%s", shared.IgnoredChannelSkew(
			cmp.Or(e.manifest.Labels[shared.LabelChannel], installed), cmp.Or(e.Channel, e.Version), installed)).
			WithHint("version %s is lower than the installed %s: publish a newer version, remove and add the module, or allow it by the annotation %s=true on the Kyma",
				e.Version, installed, desired.AnnotationAllowDowngrade)
	}
	return nil
}

// describe reads the descriptor and checks it against the template.
func (p *planner) describe(e *entry) *versions.Refusal {
	described, err := p.Describe(e.Template, e.component, e.Version)
	if err != nil {
		refusal := versions.Refuse(versions.ReasonInvalidDescriptor, "ModuleTemplate %s: %v", desired.NameOf(e.Template), err)
		switch {
		case errors.Is(err, signature.ErrSignature):
			refusal.Reason = versions.ReasonSignature
		case !errors.Is(err, versions.ErrDescriptor):
			// The registry can be reached, but its content is invalid. The hint must be about that reason, not about
			// access to the registry.
			refusal.Reason, refusal.Hint = versions.ReasonDescriptorMissing, hint.Of(err)
			if refusal.Transient = versions.IsRetryable(err); !refusal.Transient {
				refusal.Elsewhere = "the component version in the registry"
			}
		}
		refusal.Err = err
		return refusal
	}
	e.Version = cmp.Or(e.Version, described.Version)
	problems := descriptor.Validate(described, descriptor.Expectations{
		Version: e.Version, Module: e.Template.Spec.ModuleName, Component: e.component,
		Fetched: descriptor.IsEmpty(e.Template.Spec.Descriptor),
	})
	if len(problems) > 0 {
		return versions.Refuse(reasonOf(problems), "ModuleTemplate %s: %v", desired.NameOf(e.Template), problems.ToAggregate())
	}
	e.descriptor = described
	return nil
}

// nameFor returns the name of the entry's Manifest, or the name that it will get.
func (p *planner) nameFor(e *entry) string {
	if e.manifest != nil {
		return e.manifest.Name
	}
	return p.manifestName(e)
}

// namespaceFor returns the namespace for objects that name none. An installed module stays in its namespace, even if
// its Kyma moves to another one: moving the module would delete and recreate objects that may hold user data.
func (p *planner) namespaceFor(e *entry) string {
	if e.sharedIn != "" {
		return e.sharedIn
	}
	if e.manifest == nil {
		return p.sync.Namespace
	}
	return cmp.Or(e.manifest.Annotations[desired.AnnotationRemoteNamespace], p.Settings.SyncNamespace)
}

// foreignFor returns the Manifest of an earlier Kyma of this name that has the name of the entry's Manifest; nil if
// there is none.
func (p *planner) foreignFor(e *entry) *v1beta2.Manifest {
	name := p.manifestName(e)
	return lists.First(lists.Pointers(p.Foreign), func(each *v1beta2.Manifest) bool { return each.Name == name })
}

// isThere reports whether an orphaned Manifest is known to be installed in the same cluster to which a module would go
// now.
func (p *planner) isThere(orphan *v1beta2.Manifest, remote bool) bool {
	switch {
	case !p.Settings.Ours(orphan.Labels), orphan.IsUnmanaged():
		return false
	case desired.InControlPlane(orphan) || !remote:
		return desired.InControlPlane(orphan) && !remote
	}
	return orphan.Status.Cluster != "" && p.Kyma.Status.Remote != nil && orphan.Status.Cluster == p.Kyma.Status.Remote.Cluster
}

// checkShared refuses a module for the control plane if another Kyma has it there in another version
// (docs/contract.md#namespaces-and-defaults). The Kyma that installs the module may change its version, and the others
// follow.
func (p *planner) checkShared(e *entry) *versions.Refusal {
	if p.Owners == nil {
		return nil
	}
	owners, err := p.Owners(e.component)
	if err != nil {
		refusal := versions.Refuse(versions.ReasonSharedVersion, "module %s: %v", e.Module.Name, err)
		refusal.Transient, refusal.Err, refusal.Elsewhere = true, err, "the version of the shared module"
		return refusal
	}
	holder := desired.Holder(owners)
	if holder == nil || OwnedBy(holder, p.Kyma) {
		return nil
	}
	if holder.Spec.Version == e.Version {
		// This Kyma uses the namespace in which the holder installed the module. A second installation elsewhere would
		// not have the module's data.
		e.sharedIn = cmp.Or(holder.Annotations[desired.AnnotationRemoteNamespace], p.Settings.SyncNamespace)
		return nil
	}
	refusal := versions.Warn(versions.ReasonSharedVersion, "module %s is shared in the control plane with Kyma %s, which has it in version %s: version %s is refused",
		e.Module.Name, desired.KymaOf(holder), holder.Spec.Version, e.Version)
	refusal.Elsewhere = "the version of the shared module"
	return refusal
}
