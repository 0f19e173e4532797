package planning

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

// entry is one module entry, or mandatory module, on its way to a plan.
type entry struct {
	versions.Choice
	mandatory bool
	component string
	// sharedIn is the namespace in which another Kyma has the module in the control plane; empty where none has.
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
	has      int               // number of Manifests, with those that this plan makes
}

// isMandatoryEntry tells whether an entry lists a module that every Kyma has anyway: it is refused, and no Manifest
// is its own.
func (e *entry) isMandatoryEntry() bool {
	return e.Refusal != nil && e.Refusal.Reason == versions.ReasonMandatory
}

// installed is the version of the Manifest that was made for an entry of a name; empty where there is none.
func (p *planner) installed(entry string, mandatory bool) string {
	for i := range p.Manifests {
		if m := &p.Manifests[i]; m.IsMandatory() == mandatory && desired.EntryOf(m) == entry && p.ours(m) {
			return installedVersion(m)
		}
	}
	return ""
}

// installedVersion is the version that a Manifest had installed, or is about to: somebody's edit is none.
func installedVersion(m *v1beta2.Manifest) string {
	if desired.IsEdited(m) {
		return m.Status.InstalledVersion
	}
	return m.Spec.Version
}

// give gives a Manifest to an entry that has none, unless another has it.
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

// ours tells whether a Manifest of the Kyma was made by this instance.
func (p *planner) ours(manifest *v1beta2.Manifest) bool {
	return p.Settings.Ours(manifest.Labels)
}

// statusManifest is the name of the Manifest that the status last showed for an entry.
func (p *planner) statusManifest(entry string) string {
	for _, module := range p.Kyma.Status.Modules {
		if module.Name == entry && module.Manifest != nil {
			return module.Manifest.Metadata.Name
		}
	}
	return ""
}

// manifestName is the name that the Manifest of an entry has (docs/contract.md#manifest-names).
func (p *planner) manifestName(e *entry) string {
	return shared.ManifestName(p.Kyma.Name, e.component, e.Module.Name)
}

// OwnedBy tells whether the controller of a Manifest is this very Kyma.
func OwnedBy(manifest *v1beta2.Manifest, kyma *v1beta2.Kyma) bool {
	owner := metav1.GetControllerOf(manifest)
	return owner != nil && owner.UID == kyma.UID
}
