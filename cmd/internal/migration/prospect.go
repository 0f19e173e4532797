package migration

import (
	"fmt"
	"slices"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// prospect is what the first plan after the takeover will do with a module.
type prospect struct {
	// name is the module's name, with its version if that is known.
	name string
	// text describes the changes; empty if there are none.
	text string
	// moves is true if another version, or none, will be installed. The module's future state is then unknown.
	moves bool
	// planned is the Manifest that the plan will write; nil if it writes none.
	planned *v1beta2.Manifest
	// fault is why nothing of the planned Manifest can be applied.
	fault fault.Fault
}

// prospects holds the prospects of a Kyma's modules.
type prospects struct {
	// installed holds the modules with a Manifest, by the Manifest's name.
	installed map[string]*prospect
	// others holds the modules without a Manifest.
	others []*prospect
}

// of returns the prospect of a Manifest. It is empty if the plan does not mention the Manifest, or if the Manifest is
// already being removed.
func (p prospects) of(m *v1beta2.Manifest) prospect {
	if found := p.installed[m.Name]; found != nil && m.DeletionTimestamp.IsZero() {
		return *found
	}
	return prospect{}
}

func (p prospects) inOrder() []*prospect {
	all := slices.Clone(p.others)
	for _, one := range p.installed {
		all = append(all, one)
	}
	return all
}

// newProspects describes a plan.
func newProspects(view *resolve.View) prospects {
	all := prospects{installed: map[string]*prospect{}}
	for _, plan := range slices.Concat(view.Modules, view.Mandatory) {
		switch {
		case plan.IsAgent():
		case plan.Module.RemoteModuleTemplateRef != "":
			// The first synchronization brings the template of this module.
		case plan.Existing != nil:
			all.installed[plan.Existing.Name] = prospectOf(&plan)
		default:
			if p := prospectOfNew(&plan); p.text != "" {
				all.others = append(all.others, p)
			}
		}
	}
	for _, m := range view.Unwanted {
		if !m.IsSkipReconciliation() {
			all.installed[m.Name] = goes("it is removed, because its Kyma does not list it")
		}
	}
	for _, m := range view.Unknown {
		all.installed[m.Name] = goes(manifests.UnplannedMessage(m))
	}
	for _, obsolete := range view.Obsolete {
		if obsolete.Manifest.IsSkipReconciliation() {
			continue
		}
		text := "it is removed, because it is no longer mandatory"
		if obsolete.Guarded != nil {
			text = "it is no longer mandatory, and its removal waits: " + obsolete.Guarded.Message()
		}
		all.installed[obsolete.Manifest.Name] = goes(text)
	}
	return all
}

func goes(text string) *prospect { return &prospect{text: "; " + text, moves: true} }

// prospectOf returns the prospect of an installed module.
func prospectOf(plan *planning.ModulePlan) *prospect {
	p := &prospect{planned: plan.Manifest}
	version := plan.Existing.Spec.Version
	switch {
	case plan.Guarded != nil:
		p.text = "; its removal waits: " + plan.Guarded.Message()
	case plan.Action == planning.ActionRemove:
		p.text, p.moves = "; it is removed: "+plan.Refusal.Message, true
	case plan.Refusal != nil:
		p.text = fmt.Sprintf("; it stays at %s, and the Kyma shows it as %s: %s", version, plan.Refusal.State, shown(plan.Refusal))
	case plan.Deferred != nil:
		p.text = fmt.Sprintf("; it stays at %s for now: %s", version, plan.Deferred.Message)
	case plan.Window != nil:
		p.text = fmt.Sprintf("; it stays at %s, and waits for a maintenance window to become %s: %s", version, plan.Version, plan.Window.Hint())
	case plan.Action == planning.ActionUpdate && plan.Version != version:
		p.text, p.moves = "; it becomes "+plan.Version, true
		if plan.Chosen.Spec.RequiresDowntime {
			p.text += ", which requires a downtime, without waiting for a maintenance window"
		}
	}
	if waits := plan.Refusal != nil || plan.Deferred != nil || plan.Window != nil; waits && plan.Action == planning.ActionKeep && plan.Manifest == nil && planning.IsUpstreams(plan.Existing) {
		p.text += "; until then its objects are left alone, because its Manifest is not what the catalog has for " + version
	}
	return p
}

// prospectOfNew returns the prospect of a module that is not installed.
func prospectOfNew(plan *planning.ModulePlan) *prospect {
	p := &prospect{name: plan.Name, planned: plan.Manifest}
	if plan.Version != "" {
		p.name += " " + plan.Version
	}
	switch {
	case plan.Refusal != nil:
		p.text = fmt.Sprintf("is not installed, and the Kyma shows it as %s: %s", plan.Refusal.State, shown(plan.Refusal))
	case plan.Action == planning.ActionCreate:
		p.text = "is installed"
	}
	return p
}

// shown returns what the Kyma will report about a module that is refused.
func shown(r *versions.Refusal) string {
	return hint.With(r.Message, hint.Or(r.Hint, r.Reason))
}
