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
	// Mandatory is true for a module that every Kyma has; no entry lists it.
	Mandatory bool
	// Window is set while an upgrade waits for a maintenance window; what is installed stays.
	Window *Wait
	// Held is set while a removal is held, for the change that causes it would remove too much at once; what is
	// installed stays.
	Held *Hold
	// template is what was chosen, and meta the release meta of its module; they are shared with the catalog.
	template *v1beta2.ModuleTemplate
	meta     *v1beta2.ModuleReleaseMeta
	// atOnce is how many Kymas lose the module by the same change.
	atOnce int
	// orphan is the Manifest that an earlier Kyma of this name left. The Kyma adopts it where it is for the same cluster;
	// else it makes room for a new one.
	orphan *v1beta2.Manifest
	adopts bool
	// target is where the Manifest goes as it is planned; nil where that stays open.
	target *target
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
	// Delisted are the candidates of modules that nobody lists any more and that are being removed.
	Delisted desired.Catalog
	// Describe returns the descriptor of what was chosen. An error that wraps ErrDescriptor, or is a
	// rejected fault, needs a change; any other may go away.
	Describe func(template *v1beta2.ModuleTemplate, component, version string) (*Descriptor, error)
	// Owners returns the Manifests of all Kymas for a component; nil where there are no others.
	Owners func(component string) ([]v1beta2.Manifest, error)
	// DefaultCR returns the default custom resource (as JSON) that is a layer of a component, for templates that give
	// none. Nil when such layers do not count. Errors are like those of Describe.
	DefaultCR func(layer v1beta2.ImageSpec) ([]byte, error)
	// Window says whether a module of this Kyma may be down now; nil when no upgrade ever waits.
	Window func() Wait
	// Known returns the names of all modules that this Kyma may have; nil where nobody knows. It is asked only for
	// what a mistyped name may have meant.
	Known func() []string
}

// Plans are what follows from a Request.
type Plans struct {
	// Modules are the plans of the wanted modules, and Mandatory those of the mandatory ones, ordered by name.
	Modules, Mandatory []ModulePlan
	// Left are the Manifests that no entry wants any more.
	Left []*v1beta2.Manifest
	// Uncertain are those that no entry names any more, but that an entry which nothing is known about might mean.
	Uncertain []*v1beta2.Manifest
	// Mended are plans of modules that nobody lists any more and whose removal a newer version may bring to an end.
	Mended []ModulePlan
	// NotMandatory are the Manifests of modules that were mandatory and of which nothing in the catalog says so now.
	NotMandatory []*v1beta2.Manifest
}

// Plan says what to do about each wanted module and which Manifests nobody wants any more. It decides nothing
// while what is wanted is not completely known.
func Plan(r Request) Plans {
	if !r.Wanted.Complete {
		return Plans{}
	}
	p := &planning{Request: r, sync: desired.SyncOf(r.Kyma, r.Settings)}
	p.Settings = p.Settings.WithDefaults()
	p.choose()
	p.assign()
	p.refuseDuplicates()
	p.decide()
	return p.plans()
}

// entry is one module entry, or mandatory module, on its way to a plan.
type entry struct {
	choice
	mandatory bool
	component string
	// sharedIn is the namespace in which another Kyma has the module in the control plane; empty where none has.
	sharedIn   string
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
		p.entries = append(p.entries, &entry{choice: choose(p.Kyma, p.Settings, module, p.Wanted.Channel, p.Catalog[module.Name])})
	}
	for _, module := range p.Catalog.MandatoryModules() {
		p.entries = append(p.entries, &entry{choice: chooseMandatory(module, p.Settings, p.Catalog.Mandatory(module)), mandatory: true})
	}
	for _, e := range p.entries {
		if e.refusal != nil && e.refusal.Reason == ReasonNotFound && p.Known != nil {
			e.refusal.Hint = didYouMean(e.module.Name, p.Known()) + e.refusal.Hint
		}
		p.identify(e)
		if len(p.Kyma.Name) > validation.LabelValueMaxLength {
			e.refusal = refuse(ReasonKymaName, "the name of the Kyma has more than %d characters", validation.LabelValueMaxLength)
		}
	}
	// Mandatory modules go first: the Manifest of a module is theirs before it is an entry's of the same name.
	slices.SortFunc(p.entries, func(a, b *entry) int {
		return cmp.Or(first(b.mandatory)-first(a.mandatory), cmp.Compare(a.module.Name, b.module.Name))
	})
}

// identify finds out which component an entry is.
func (*planning) identify(e *entry) {
	if e.template == nil {
		return
	}
	e.component = desired.EmbeddedComponent(e.template)
	if e.component == "" && e.meta != nil {
		e.component = e.meta.Spec.OCMComponentName
	}
	if e.component == "" && e.refusal == nil {
		e.refusal = refuse(ReasonInvalidDescriptor,
			"ModuleTemplate %s has no component descriptor, and no ModuleReleaseMeta says which component it is", nameOf(e.template))
	}
}

func first(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// plans puts into words what was decided.
func (p *planning) plans() Plans {
	var all Plans
	for _, e := range p.entries {
		plan := e.plan
		plan.Name = e.module.Name
		plan.Module = e.module
		plan.Channel = e.channel
		plan.Version = e.version
		plan.Component = e.component
		plan.Existing = e.manifest
		plan.Refusal = e.refusal
		plan.Mandatory = e.mandatory
		plan.template, plan.meta = e.template, e.owner
		if e.template != nil {
			plan.Template = templateRef(e.template)
		}
		if e.mandatory {
			all.Mandatory = append(all.Mandatory, plan)
		} else {
			all.Modules = append(all.Modules, plan)
		}
	}
	p.unclaimed(&all)
	all.Mended = p.mend()
	return all
}

// unclaimed sorts out the Manifests that no entry has. A Manifest stays as long as some entry could mean its
// component or was the one that it was made for, however unclear that entry is at present; and while there is an
// entry that may be its new name, for nothing is known of that one.
func (p *planning) unclaimed(all *Plans) {
	meant := map[string]bool{}
	riddle := false
	for _, e := range p.entries {
		meant[e.module.Name] = true
		for _, component := range append(e.possible, e.component) {
			if component != "" {
				meant[component] = true
			}
		}
		riddle = riddle || e.manifest == nil && e.refusal != nil && e.refusal.Reason == ReasonNotFound
	}
	for i := range p.Manifests {
		manifest := &p.Manifests[i]
		switch {
		case !p.ours(manifest) || p.claimed[manifest.Name] != nil:
		case manifest.IsMandatory():
			if !meant[manifest.ModuleName()] && !meant[manifest.ComponentName()] {
				all.NotMandatory = append(all.NotMandatory, manifest)
			}
		case meant[desired.EntryOf(manifest)] || meant[manifest.ComponentName()]:
		case riddle:
			all.Uncertain = append(all.Uncertain, manifest)
		default:
			all.Left = append(all.Left, manifest)
		}
	}
	byName := func(a, b *v1beta2.Manifest) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(all.Left, byName)
	slices.SortFunc(all.Uncertain, byName)
	slices.SortFunc(all.NotMandatory, byName)
}

// ours tells whether a Manifest of the Kyma was made by this instance.
func (p *planning) ours(manifest *v1beta2.Manifest) bool {
	return p.Settings.Ours(manifest.Labels)
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

// manifestName is the name that the Manifest of an entry has (docs/contract.md#manifest-names).
func (p *planning) manifestName(e *entry) string {
	return shared.ManifestName(p.Kyma.Name, e.component, e.module.Name)
}
