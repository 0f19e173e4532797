package planning

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

// entry is one module entry, or one mandatory module, while it is planned.
type entry struct {
	versions.Choice
	mandatory bool
	component string
	// sharedIn is the namespace in which another Kyma has installed the module in the control plane; empty if none has.
	sharedIn   string
	descriptor *versions.Descriptor
	manifest   *v1beta2.Manifest
	plan       ModulePlan
}

// planner makes the plan of one Kyma.
type planner struct {
	Request
	sync     desired.Sync
	entries  []*entry
	assigned map[string]*entry // by Manifest name
	has      int               // number of Manifests, including those that this plan creates
}

// isMandatoryEntry reports whether an entry lists a mandatory module. The entry is refused and has no Manifest.
func (e *entry) isMandatoryEntry() bool {
	return e.Refusal != nil && e.Refusal.Reason == versions.ReasonMandatory
}

// installed returns the version of the Manifest that was made for an entry of this name; empty if there is none.
func (p *planner) installed(entry string, mandatory bool) string {
	for i := range p.Manifests {
		if m := &p.Manifests[i]; m.IsMandatory() == mandatory && desired.EntryOf(m) == entry && p.ours(m) {
			return installedVersion(m)
		}
	}
	return ""
}

// installedVersion returns the version that a Manifest has installed or is about to install. The version in an edited
// spec does not count.
func installedVersion(m *v1beta2.Manifest) string {
	if desired.IsEdited(m) {
		return m.Status.InstalledVersion
	}
	return m.Spec.Version
}

// give gives a Manifest to an entry that has none, unless another entry has the Manifest.
func (p *planner) give(e *entry, manifest *v1beta2.Manifest) {
	if manifest == nil || e.manifest != nil || e.isMandatoryEntry() || p.assigned[manifest.Name] != nil {
		return
	}
	e.manifest = manifest
	p.assigned[manifest.Name] = e
}

// identify finds out which component an entry is.
func (*planner) identify(e *entry) {
	if e.Template == nil {
		return
	}
	e.component = desired.EmbeddedComponent(e.Template)
	if e.component == "" && e.ReleaseMeta != nil {
		e.component = e.ReleaseMeta.Spec.OCMComponentName
	}
	if e.component == "" && e.Refusal == nil {
		e.Refusal = versions.Refuse(versions.ReasonInvalidDescriptor,
			"ModuleTemplate %s has no component descriptor, and no ModuleReleaseMeta says which component it is", desired.NameOf(e.Template))
	}
}

// ours reports whether a Manifest belongs to this instance.
func (p *planner) ours(manifest *v1beta2.Manifest) bool {
	return p.Settings.Ours(manifest.Labels)
}

// statusManifest returns the name of the Manifest that the Kyma's status last showed for an entry.
func (p *planner) statusManifest(entry string) string {
	for _, module := range p.Kyma.Status.Modules {
		if module.Name == entry && module.Manifest != nil {
			return module.Manifest.Metadata.Name
		}
	}
	return ""
}

// manifestName returns the name for the Manifest of an entry (docs/contract.md#manifest-names).
func (p *planner) manifestName(e *entry) string {
	return shared.ManifestName(p.Kyma.Name, e.component, e.Module.Name)
}

// OwnedBy reports whether the controller of a Manifest is this Kyma, by uid.
func OwnedBy(manifest *v1beta2.Manifest, kyma *v1beta2.Kyma) bool {
	owner := metav1.GetControllerOf(manifest)
	return owner != nil && owner.UID == kyma.UID
}
