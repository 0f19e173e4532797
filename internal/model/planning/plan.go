// Package planning decides what to do about each module of a Kyma and its Manifest. It has no side effects: Plan
// computes Plans from a Request, which has all inputs. Package resolve builds the Request and carries the Plans out.
//
// Plan works in four steps: choose the template of each entry (package versions), assign the existing Manifests to the
// entries, refuse duplicate components, and decide an Action for each entry.
//
// Invariants:
//   - The result does not depend on the order of lists in the Request, and planning again after the plan was carried
//     out changes nothing.
//   - Uncertainty removes nothing. If the wanted modules are not completely known, the plan is empty. A refused entry
//     keeps its Manifest unless the refusal says Remove.
//   - A Manifest proves nothing about what it asks for, because others may write Manifests. Only the record of an
//     earlier plan (package planned) or the catalog counts.
//
// The files:
//
//	plan.go       entry point, and the Manifests that no entry has
//	entry.go      an entry while it is planned
//	assign.go     which Manifest an entry has
//	decide.go     the Action of an entry; checks.go has the reasons to refuse it
//	manifest.go   the Manifest that an entry should have; layers.go has the sources of its layers
//	agent.go      the plan of the agent in the remote cluster
//	upstream.go   Manifests that upstream wrote, and plans that were lost
package planning

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Plan decides what to do about each wanted module, and finds the Manifests that no entry wants any more. The plan is
// empty while the wanted modules are not completely known.
func Plan(r Request) Plans {
	if !r.Wanted.Complete {
		return Plans{}
	}
	var agent []*v1beta2.Manifest
	r.Manifests, agent = SplitAgents(r.Manifests)
	p := &planner{Request: r, sync: desired.SyncOf(r.Kyma, r.Settings)}
	p.Settings = p.Settings.WithDefaults()
	p.choose()
	p.assign()
	p.refuseDuplicates()
	p.decide()
	plans := p.plans()
	if plan, ok := planAgent(r, p.sync, agent); ok {
		plans.Mandatory = append(plans.Mandatory, plan)
	}
	plans.Unknown = append(plans.Unknown, lists.Filter(agent, func(manifest *v1beta2.Manifest) bool {
		return manifest.Name != shared.RemoteAgentName(r.Kyma.Name) && p.ours(manifest) && planned.IsUnknown(r.Kyma, manifest)
	})...)
	return plans
}

// choose finds the template of each entry.
func (p *planner) choose() {
	for _, module := range p.Wanted.Modules {
		p.entries = append(p.entries, &entry{Choice: versions.Choose(p.Kyma, p.Settings, module, p.Wanted.Channel, p.Catalog[module.Name], p.installed(module.Name, false))})
	}
	for _, module := range p.Catalog.MandatoryModules() {
		p.entries = append(p.entries, &entry{Choice: versions.ChooseMandatory(p.Kyma, module, p.Settings, p.Catalog.Mandatory(module), p.installed(module, true)), mandatory: true})
	}
	for _, e := range p.entries {
		if e.Refusal != nil && e.Refusal.Reason == versions.ReasonNotFound && p.Known != nil {
			e.Refusal.Hint = versions.DidYouMean(e.Module.Name, p.Known()) + e.Refusal.Hint
		}
		p.identify(e)
		if len(p.Kyma.Name) > validation.LabelValueMaxLength {
			e.Refusal = versions.Refuse(versions.ReasonKymaName, "the name of the Kyma has more than %d characters", validation.LabelValueMaxLength)
		}
	}
	// Mandatory modules go first, so that they get the Manifest of their module before an entry of the same name.
	slices.SortFunc(p.entries, func(a, b *entry) int {
		return cmp.Or(lists.TrueFirst(a.mandatory, b.mandatory), cmp.Compare(a.Module.Name, b.Module.Name))
	})
}

// plans turns the decisions into Plans.
func (p *planner) plans() Plans {
	var all Plans
	for _, e := range p.entries {
		plan := e.plan
		plan.Name = e.Module.Name
		plan.Module = e.Module
		plan.Channel = e.Channel
		plan.Version = e.Version
		plan.Component = e.component
		plan.Existing = e.manifest
		plan.Refusal = e.Refusal
		plan.Mandatory = e.mandatory
		plan.Chosen, plan.ReleaseMeta = e.Template, e.OwnReleaseMeta
		if e.Template != nil {
			plan.Template = templateRef(e.Template)
		}
		if e.mandatory {
			all.Mandatory = append(all.Mandatory, plan)
		} else {
			all.Modules = append(all.Modules, plan)
		}
	}
	p.sortUnassigned(&all)
	all.UpgradesInRemoval = p.upgradesInRemoval()
	return all
}

// sortUnassigned sorts the Manifests that no entry has. A Manifest stays if an entry could mean its component or is the
// entry that the Manifest was made for, even if that entry cannot be resolved now. It also stays while there is an
// entry of which nothing is known, because that entry may be its new name. A Manifest that no plan ever had does not
// stay, whatever its labels say.
func (p *planner) sortUnassigned(all *Plans) {
	meant := map[string]bool{}
	unresolved := false
	for _, e := range p.entries {
		meant[e.Module.Name] = true
		for _, component := range append(e.Possible, e.component) {
			if component != "" {
				meant[component] = true
			}
		}
		unresolved = unresolved || e.manifest == nil && e.Refusal != nil && e.Refusal.Reason == versions.ReasonNotFound
	}
	for i := range p.Manifests {
		manifest := &p.Manifests[i]
		switch {
		case !p.ours(manifest) || p.assigned[manifest.Name] != nil:
		case planned.IsUnknown(p.Kyma, manifest):
			all.Unknown = append(all.Unknown, manifest)
		case manifest.IsMandatory():
			if !meant[manifest.ModuleName()] && !meant[manifest.ComponentName()] {
				all.NotMandatory = append(all.NotMandatory, manifest)
			}
		case meant[desired.EntryOf(manifest)] || meant[manifest.ComponentName()]:
		case unresolved:
			all.Uncertain = append(all.Uncertain, manifest)
		default:
			all.Unwanted = append(all.Unwanted, manifest)
		}
	}
	byName := func(a, b *v1beta2.Manifest) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(all.Unwanted, byName)
	slices.SortFunc(all.Uncertain, byName)
	slices.SortFunc(all.NotMandatory, byName)
}
