package resolve

import (
	"slices"
	"strings"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// assign finds the Manifest of each entry: the one that has the name of docs/contract.md#manifest-names; else one that was
// made for an entry of that name; else, for a renamed entry, one of the same component whose own entry is
// no longer listed.
func (p *planning) assign() {
	p.claimed = map[string]*entry{}
	manifests := map[string]*v1beta2.Manifest{}
	for i := range p.Manifests {
		if manifest := &p.Manifests[i]; p.ours(manifest) {
			manifests[manifest.Name] = manifest
		}
	}
	p.refuseCollisions()
	for _, e := range p.entries {
		if e.component != "" && !e.isMandatoryEntry() {
			p.claim(e, manifests[p.manifestName(e)])
		}
	}
	for _, e := range p.entries {
		for i := range p.Manifests {
			manifest := manifests[p.Manifests[i].Name]
			if manifest != nil && manifest.IsMandatory() == e.mandatory && (desired.EntryOf(manifest) == e.module.Name || p.statusManifest(e.module.Name) == manifest.Name) {
				p.claim(e, manifest)
			}
		}
	}
	p.adopt(manifests)
}

// isMandatoryEntry tells whether an entry lists a module that every Kyma has anyway: it is refused, and no Manifest
// is its own.
func (e *entry) isMandatoryEntry() bool {
	return e.refusal != nil && e.refusal.Reason == ReasonMandatory
}

// claim gives a Manifest to an entry that has none, unless another has it.
func (p *planning) claim(e *entry, manifest *v1beta2.Manifest) {
	if manifest == nil || e.manifest != nil || e.isMandatoryEntry() || p.claimed[manifest.Name] != nil {
		return
	}
	e.manifest = manifest
	p.claimed[manifest.Name] = e
}

// adopt gives a Manifest whose entry is gone to the one entry without a Manifest that means its component.
func (p *planning) adopt(manifests map[string]*v1beta2.Manifest) {
	listed := map[string]bool{}
	wanting := map[string][]*entry{}
	for _, e := range p.entries {
		if e.mandatory || e.isMandatoryEntry() {
			continue
		}
		listed[e.module.Name] = true
		if e.manifest == nil && e.component != "" {
			wanting[e.component] = append(wanting[e.component], e)
		}
	}
	for i := range p.Manifests {
		manifest := manifests[p.Manifests[i].Name]
		if manifest == nil || manifest.IsMandatory() || listed[desired.EntryOf(manifest)] || !manifest.DeletionTimestamp.IsZero() {
			continue
		}
		if heirs := wanting[manifest.ComponentName()]; len(heirs) == 1 {
			p.claim(heirs[0], manifest)
		}
	}
}

// refuseDuplicates keeps a component from being installed under two names: the entry that has a Manifest
// stays; where none has one, all are refused (docs/contract.md#namespaces-and-defaults).
func (p *planning) refuseDuplicates() {
	byComponent := map[string][]*entry{}
	for _, e := range p.entries {
		if e.component != "" && !e.isMandatoryEntry() {
			byComponent[e.component] = append(byComponent[e.component], e)
		}
	}
	for _, e := range p.entries {
		// An ordinary entry makes room for a mandatory module, never the other way round.
		same := slices.DeleteFunc(slices.Clone(byComponent[e.component]), func(other *entry) bool { return e.mandatory && !other.mandatory })
		if e.component == "" || len(same) < 2 || e.manifest != nil || e.refusal != nil {
			continue
		}
		var others []string
		for _, other := range same {
			if other != e {
				others = append(others, other.module.Name)
			}
		}
		e.refusal = refuse(ReasonDuplicateComponent, "module %s is the same component %s as %s: list it once",
			e.module.Name, e.component, strings.Join(others, ", "))
	}
}

// refuseCollisions refuses entries whose Manifests would get the same name after cutting.
func (p *planning) refuseCollisions() {
	byName := map[string][]*entry{}
	for _, e := range p.entries {
		if e.component != "" && e.refusal == nil {
			name := p.manifestName(e)
			byName[name] = append(byName[name], e)
		}
	}
	for name, same := range byName {
		if len(same) < 2 {
			continue
		}
		for _, e := range same {
			e.refusal = refuse(ReasonNameCollision,
				"the Manifest of module %s would have the name %s, which another module's Manifest has too: shorten the Kyma's name",
				e.module.Name, name)
		}
	}
}
