package resolve

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Action says what is to be done about one module's Manifest.
type Action string

const (
	// ActionKeep: it is as wanted, or must stay as it is.
	ActionKeep Action = "Keep"
	// ActionCreate: there is none.
	ActionCreate Action = "Create"
	// ActionUpdate: it differs.
	ActionUpdate Action = "Update"
	// ActionWait: one of that name is still being deleted; it is made anew after that.
	ActionWait Action = "Wait"
	// ActionRemove: it is to be deleted, because this Kyma may no longer have the module.
	ActionRemove Action = "Remove"
	// ActionNone: there is none, and none is to be made.
	ActionNone Action = "None"
)

// ModulePlan says what one module entry leads to.
type ModulePlan struct {
	// Name is the entry's name.
	Name string
	// Module is the entry.
	Module v1beta2.Module
	// Channel, Version, Component and Template are what the entry means, as far as it could be found out.
	Channel, Version, Component string
	Template                    *v1beta2.TrackedObject
	Action                      Action
	// Existing is the entry's Manifest as it is; nil when there is none.
	Existing *v1beta2.Manifest
	// Manifest is as it is to be; nil when nothing is to be written.
	Manifest *v1beta2.Manifest
	// Refusal says why the entry does not get what it asks for; nil when it does.
	Refusal *Refusal
	// template is what was chosen; it is shared with the catalog.
	template *v1beta2.ModuleTemplate
}

// Request is all that a plan is made from. Plan reads it and changes nothing of it.
type Request struct {
	Kyma     *v1beta2.Kyma
	Settings desired.Settings
	Wanted   desired.Wanted
	Catalog  desired.Catalog
	// Manifests are all of this Kyma, by label and owner uid.
	Manifests []v1beta2.Manifest
	// Foreign are Manifests with the Kyma's name in their label that are not this Kyma's: those of an
	// earlier Kyma of the same name.
	Foreign []v1beta2.Manifest
	// Describe returns the descriptor of what was chosen. An error that wraps ErrDescriptor, or is a
	// rejected fault, needs a change; any other may go away.
	Describe func(template *v1beta2.ModuleTemplate, component, version string) (*Descriptor, error)
}

// Plan says what to do about each wanted module, ordered by name, and which Manifests are wanted by no
// entry any more. It decides nothing while what is wanted is not completely known.
func Plan(r Request) (modules []ModulePlan, left []*v1beta2.Manifest) {
	if !r.Wanted.Complete {
		return nil, nil
	}
	p := &planning{Request: r, sync: desired.SyncOf(r.Kyma, r.Settings)}
	p.Settings = p.Settings.WithDefaults()
	p.choose()
	p.assign()
	p.refuseDuplicates()
	p.decide()
	return p.plans(), p.left()
}

// entry is one module entry on its way to a plan.
type entry struct {
	choice
	component  string
	descriptor *Descriptor
	manifest   *v1beta2.Manifest
	plan       ModulePlan
}

type planning struct {
	Request
	sync    desired.Sync
	entries []*entry
	claimed map[string]*entry // by Manifest name
}

// choose finds out what each entry means.
func (p *planning) choose() {
	for _, module := range p.Wanted.Modules {
		e := &entry{choice: choose(p.Kyma, p.Settings, module, p.Wanted.Channel, p.Catalog[module.Name])}
		if e.template != nil {
			e.component = desired.EmbeddedComponent(e.template)
			if e.component == "" && e.meta != nil {
				e.component = e.meta.Spec.OCMComponentName
			}
			if e.component == "" && e.refusal == nil {
				e.refusal = refuse(ReasonInvalidDescriptor,
					"ModuleTemplate %s has no component descriptor, and no ModuleReleaseMeta says which component it is",
					nameOf(e.template))
			}
		}
		if len(p.Kyma.Name) > validation.LabelValueMaxLength {
			e.refusal = refuse(ReasonKymaName, "the name of the Kyma has more than %d characters", validation.LabelValueMaxLength)
		}
		p.entries = append(p.entries, e)
	}
	slices.SortFunc(p.entries, func(a, b *entry) int { return cmp.Compare(a.module.Name, b.module.Name) })
}

// plans puts into words what was decided.
func (p *planning) plans() []ModulePlan {
	plans := make([]ModulePlan, 0, len(p.entries))
	for _, e := range p.entries {
		plan := e.plan
		plan.Name = e.module.Name
		plan.Module = e.module
		plan.Channel = e.channel
		plan.Version = e.version
		plan.Component = e.component
		plan.Existing = e.manifest
		plan.Refusal = e.refusal
		plan.template = e.template
		if e.template != nil {
			plan.Template = templateRef(e.template)
		}
		plans = append(plans, plan)
	}
	return plans
}

// left lists the Manifests that no entry wants any more. A Manifest stays as long as some entry could mean
// its component or was the one that it was made for, however unclear that entry is at present.
func (p *planning) left() []*v1beta2.Manifest {
	meant := map[string]bool{}
	for _, e := range p.entries {
		meant[e.module.Name] = true
		if e.component != "" {
			meant[e.component] = true
		}
	}
	var left []*v1beta2.Manifest
	for i := range p.Manifests {
		manifest := &p.Manifests[i]
		if !p.ours(manifest) || p.claimed[manifest.Name] != nil || meant[entryOf(manifest)] || meant[manifest.ComponentName()] {
			continue
		}
		left = append(left, manifest)
	}
	slices.SortFunc(left, func(a, b *v1beta2.Manifest) int { return cmp.Compare(a.Name, b.Name) })
	return left
}

// ours tells whether a Manifest of the Kyma was made for one of its entries by this instance. Manifests of
// mandatory modules have a life of their own.
func (p *planning) ours(manifest *v1beta2.Manifest) bool {
	return !manifest.IsMandatory() && p.Settings.Ours(manifest.Labels)
}

// statusManifest is the name of the Manifest that the status last showed for an entry.
func (p *planning) statusManifest(entry string) string {
	for _, module := range p.Kyma.Status.Modules {
		if module.Name == entry && module.Manifest != nil {
			return module.Manifest.Metadata.Name
		}
	}
	return ""
}

// manifestName is the name that the Manifest of an entry has by the contract.
func (p *planning) manifestName(e *entry) string {
	return shared.ManifestName(p.Kyma.Name, e.component, e.module.Name)
}
