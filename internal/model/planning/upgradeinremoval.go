package planning

import (
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

// An operator that does not release its default custom resource holds the removal of its module indefinitely, until a
// newer version of it can. So that one reaches also a Manifest that is being deleted (docs/contract.md#removal), whether its
// module is still off the list or was listed again meanwhile. Whether nothing but the default custom resource blocks the
// removal, and the newer version is applied, the removal itself decides.

// upgradeInRemoval is the Manifest of an entry, which is being deleted, in a newer version; nil where there is none.
func (p *planner) upgradeInRemoval(e *entry) (*v1beta2.Manifest, *Destination) {
	m, next := e.manifest, *e
	if !desired.MayUpgradeInRemoval(m) || e.Refusal != nil || e.component == "" || !e.Module.IsManaged() {
		return nil, nil
	}
	remote, refusal := p.target(&next)
	if refusal == nil {
		refusal = p.checkInstalled(&next, remote)
	}
	if refusal == nil {
		refusal = p.describe(&next)
	}
	if refusal != nil || !versions.IsDowngrade(next.Version, m.Spec.Version) {
		return nil, nil
	}
	manifest, refusal := p.manifestFor(&next, remote)
	if refusal != nil {
		return nil, nil
	}
	// What is removed, and how, was decided when it was deleted.
	manifest.Spec.CustomResourcePolicy = m.Spec.CustomResourcePolicy
	manifest.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(manifest.Spec)
	return manifest, destinationOf(manifest)
}

// upgradesInRemoval plans newer versions for the Manifests that are being deleted as their modules are off the list.
func (p *planner) upgradesInRemoval() []ModulePlan {
	var all []ModulePlan
	modules := desired.Delisted(p.Wanted, p.Manifests)
	for i := range p.Manifests {
		m := &p.Manifests[i]
		module, ok := modules[m.Name]
		if !ok || !p.ours(m) || p.assigned[m.Name] != nil {
			continue
		}
		e := &entry{Choice: versions.Choose(p.Kyma, p.Settings, module, p.Wanted.Channel, p.Delisted[module.Name], installedVersion(m)), manifest: m}
		p.identify(e)
		if manifest, goes := p.upgradeInRemoval(e); manifest != nil {
			all = append(all, ModulePlan{Name: module.Name, Module: module, Action: ActionWait, Existing: m, Manifest: manifest, Destination: goes, Record: p.record(manifest)})
		}
	}
	return all
}
