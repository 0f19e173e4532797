package planning

import (
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

// An operator that does not release its default custom resource blocks the removal of its module indefinitely, unless a
// newer version of the operator releases it. Therefore a newer version is planned even for a Manifest that is being
// deleted (docs/contract.md#removal), whether its module is still off the list or was listed again in the meantime. The
// removal itself decides whether only the default custom resource blocks it, and thus whether the newer version is
// applied.

// upgradeInRemoval returns the Manifest of an entry in a newer version, for a Manifest that is being deleted. It
// returns nil if there is no newer version.
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
	// The deletion decided what is removed and how, so the policy stays.
	manifest.Spec.CustomResourcePolicy = m.Spec.CustomResourcePolicy
	manifest.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(manifest.Spec)
	return manifest, destinationOf(manifest)
}

// upgradesInRemoval plans newer versions for Manifests that are being deleted because their modules are no longer
// listed.
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
