package planning

import (
	"slices"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// assign finds the Manifest of each entry: the one that has the name of docs/contract.md#manifest-names; else one that was
// made for an entry of that name; else, for a renamed entry, one of the same component whose own entry is
// no longer listed.
func (p *planner) assign() {
	p.assigned = map[string]*entry{}
	manifests := map[string]*v1beta2.Manifest{}
	for i := range p.Manifests {
		if manifest := &p.Manifests[i]; p.ours(manifest) {
			manifests[manifest.Name] = manifest
		}
	}
	p.has = len(manifests)
	p.refuseCollisions()
	for _, e := range p.entries {
		if e.component != "" && !e.isMandatoryEntry() {
			p.give(e, manifests[p.manifestName(e)])
		}
	}
	for _, e := range p.entries {
		for i := range p.Manifests {
			manifest := manifests[p.Manifests[i].Name]
			if manifest != nil && !planned.IsUnknown(p.Kyma, manifest) && manifest.IsMandatory() == e.mandatory && (desired.EntryOf(manifest) == e.Module.Name || p.statusManifest(e.Module.Name) == manifest.Name) {
				p.give(e, manifest)
			}
		}
	}
	p.adopt(manifests)
}

// adopt gives a Manifest whose entry is gone to the one entry without a Manifest that means its component.
func (p *planner) adopt(manifests map[string]*v1beta2.Manifest) {
	listed := map[string]bool{}
	wanting := map[string][]*entry{}
	for _, e := range p.entries {
		if e.mandatory || e.isMandatoryEntry() {
			continue
		}
		listed[e.Module.Name] = true
		if e.manifest == nil && e.component != "" {
			wanting[e.component] = append(wanting[e.component], e)
		}
	}
	for i := range p.Manifests {
		manifest := manifests[p.Manifests[i].Name]
		if manifest == nil || planned.IsUnknown(p.Kyma, manifest) || manifest.IsMandatory() || listed[desired.EntryOf(manifest)] || !manifest.DeletionTimestamp.IsZero() {
			continue
		}
		if heirs := wanting[manifest.ComponentName()]; len(heirs) == 1 {
			p.give(heirs[0], manifest)
		}
	}
}

// refuseDuplicates keeps a component from being installed under two names: the entry that has a Manifest
// stays; where none has one, all are refused (docs/contract.md#namespaces-and-defaults).
func (p *planner) refuseDuplicates() {
	byComponent := map[string][]*entry{}
	for _, e := range p.entries {
		if e.component != "" && !e.isMandatoryEntry() {
			byComponent[e.component] = append(byComponent[e.component], e)
		}
	}
	for _, e := range p.entries {
		// An ordinary entry makes room for a mandatory module, never the other way round.
		same := slices.DeleteFunc(slices.Clone(byComponent[e.component]), func(other *entry) bool { return e.mandatory && !other.mandatory })
		if e.component == "" || len(same) < 2 || e.manifest != nil || e.Refusal != nil {
			continue
		}
		var others []string
		for _, other := range same {
			if other != e {
				others = append(others, other.Module.Name)
			}
		}
		e.Refusal = versions.Refuse(versions.ReasonDuplicateComponent, "module %s is the same component %s as %s: list it once",
			e.Module.Name, e.component, fault.List(others, ", ", maxOthers))
	}
}

// refuseCollisions refuses entries whose Manifests would get the same name after cutting, or the name of an agent: a component
// can be given a name with the same hash.
func (p *planner) refuseCollisions() {
	byName := map[string][]*entry{}
	for _, e := range p.entries {
		if e.component != "" && e.Refusal == nil {
			name := p.manifestName(e)
			byName[name] = append(byName[name], e)
		}
	}
	for name, same := range byName {
		why := "which another module's Manifest has too: shorten the Kyma's name"
		switch {
		case shared.IsRemoteAgentName(name):
			why = "which is that of an agent: give its component another name"
		case len(same) < 2:
			continue
		}
		for _, e := range same {
			e.Refusal = versions.Refuse(versions.ReasonNameCollision, "the Manifest of module %s would have the name %s, %s", e.Module.Name, name, why)
		}
	}
}

const (
	// MaxManifests is how many Manifests a Kyma has at most, with those of mandatory modules and those that are still being
	// removed. Its status has a row or an entry for each, and has to fit into etcd.
	MaxManifests = 256
	// maxOthers is how many bytes of the names of other entries a message has at most.
	maxOthers = 256
)

// oneMore refuses a further Manifest for a Kyma that has as many as its status has room for, with those that this plan
// makes. Those that are there stay as they are.
func (p *planner) oneMore(e *entry) *versions.Refusal {
	if p.has >= MaxManifests {
		return versions.Refuse(versions.ReasonTooManyModules,
			"the Kyma has %d modules, with mandatory ones and those that are being removed: module %s would be one too many", p.has, e.Module.Name)
	}
	p.has++
	return nil
}
