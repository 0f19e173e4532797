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

// assign finds the Manifest of each entry. It takes the Manifest with the name of docs/contract.md#manifest-names, else
// a Manifest made for an entry of that name. A renamed entry gets a Manifest of the same component if the entry of that
// Manifest is no longer listed.
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

// adopt gives a Manifest that has lost its entry to an entry without a Manifest, if that is the only such entry of the
// component.
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

// refuseDuplicates refuses to install a component under two names. An entry that has a Manifest keeps it. If no entry
// has one, all are refused (docs/contract.md#namespaces-and-defaults).
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
		e.Refusal = versions.Refuse(versions.ReasonDuplicateComponent, "module %s has the same component %s as %s: list only one of them",
			e.Module.Name, e.component, fault.List(others, ", ", maxOthers))
	}
}

// refuseCollisions refuses entries with Manifest names that collide with each other after cutting, or with the name of
// an agent. A component can be given a name with the same hash.
func (p *planner) refuseCollisions() {
	byName := map[string][]*entry{}
	for _, e := range p.entries {
		if e.component != "" && e.Refusal == nil {
			name := p.manifestName(e)
			byName[name] = append(byName[name], e)
		}
	}
	for name, same := range byName {
		why := "which another module's Manifest also has: shorten the Kyma's name"
		switch {
		case shared.IsRemoteAgentName(name):
			why = "which is reserved for an agent: rename the module's component"
		case len(same) < 2:
			continue
		}
		for _, e := range same {
			e.Refusal = versions.Refuse(versions.ReasonNameCollision, "the Manifest of module %s would have the name %s, %s", e.Module.Name, name, why)
		}
	}
}

const (
	// MaxManifests is the maximum number of Manifests of a Kyma, including mandatory modules and Manifests that are
	// being removed. The Kyma's status has a row or an entry for each, and must fit into etcd.
	MaxManifests = 256
	// maxOthers limits the names of other entries in a message, in bytes.
	maxOthers = 256
)

// oneMore counts one more Manifest, including those that this plan creates. It refuses the Manifest if the Kyma's
// status has no room for it. Existing Manifests stay.
func (p *planner) oneMore(e *entry) *versions.Refusal {
	if p.has >= MaxManifests {
		return versions.Refuse(versions.ReasonTooManyModules,
			"the Kyma has %d modules, including mandatory ones and those that are being removed, so there is no room for module %s: remove another one first", p.has, e.Module.Name)
	}
	p.has++
	return nil
}
