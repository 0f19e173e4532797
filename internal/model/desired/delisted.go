package desired

import (
	"cmp"
	"context"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// EntryOf returns the name of the module entry that a Manifest was made for.
func EntryOf(manifest *v1beta2.Manifest) string {
	return cmp.Or(manifest.Annotations[AnnotationModuleEntry], manifest.ModuleName())
}

// MayUpgradeInRemoval reports whether, as far as the Manifest shows, its removal waits for a default custom resource
// that is deleted with the module. Then a newer version may be able to finish the removal (docs/contract.md#removal).
func MayUpgradeInRemoval(m *v1beta2.Manifest) bool {
	return !m.DeletionTimestamp.IsZero() && m.Status.DefaultCR != nil && m.Status.DefaultCR.UID != "" &&
		m.Spec.EffectivePolicy() == v1beta2.CustomResourcePolicyCreateAndDelete && !m.IsSkipReconciliation() && !m.IsUnmanaged()
}

// Delisted returns the Manifests that may be upgraded in their removal and belong to modules that are no longer listed,
// by Manifest name. The value is the entry that the Manifest was made for. Manifests of pinned versions are left out,
// because they want no newer version.
func Delisted(wanted Wanted, manifests []v1beta2.Manifest) map[string]v1beta2.Module {
	listed := lists.Set(wanted.Modules, func(module v1beta2.Module) string { return module.Name })
	all := map[string]v1beta2.Module{}
	for i := range manifests {
		m := &manifests[i]
		if channel := m.Labels[shared.LabelChannel]; channel != "" && MayUpgradeInRemoval(m) && !m.IsMandatory() && !listed[EntryOf(m)] {
			all[m.Name] = v1beta2.Module{Name: EntryOf(m), Channel: channel}
		}
	}
	return all
}

// GatherDelisted finds the candidates for the modules of delisted Manifests. They are not part of the Kyma's inputs.
func GatherDelisted(ctx context.Context, index Index, settings Settings, wanted Wanted, manifests []v1beta2.Manifest) (Catalog, error) {
	modules := Delisted(wanted, manifests)
	if len(modules) == 0 {
		return nil, nil //nolint:nilnil // the usual case
	}
	wanted.Modules = nil
	for _, module := range modules {
		wanted.Modules = append(wanted.Modules, module)
	}
	return Gather(ctx, index, settings, wanted)
}

// Delisted returns a digest of the candidates for the modules of a Kyma's delisted Manifests; empty if there are none.
// If it changes, a newer version may be available.
func (i Inputs) Delisted(ctx context.Context, kyma *v1beta2.Kyma, manifests []v1beta2.Manifest) (string, error) {
	catalog, err := GatherDelisted(ctx, i.Index, i.Settings, WantedBy(kyma, SyncOf(kyma, i.Settings)), manifests)
	if err != nil || len(catalog) == 0 {
		return "", err
	}
	return DigestOf(catalog.inputs(i.Settings)...), nil
}
