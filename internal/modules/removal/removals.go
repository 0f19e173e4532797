// Package removal removes the objects of a module from its cluster.
//
//	r := removal.NewRemover(manifest, cluster)
//	waiting, err := removals.RemoveModuleCRs(ctx, r, manifest)               // custom resources first
//	own, stay, err := removals.HandOverToOthers(ctx, r, manifest, entries)   // what other Kymas use
//	waiting, err = removals.RemoveStage(ctx, r, own)                         // in reverse order of the stages
//
// A Remover works for one Manifest. Removals is shared by all. Packages install (objects that a new version no longer
// has), uninstall and purge use them. Unmanage does the opposite: it leaves the objects in the cluster and removes
// our marks.
//
// What must stay true:
//
//   - An object is deleted only if it carries the Manifest's mark, and with its uid as a precondition.
//   - Users' data is not deleted unless they allowed it: their custom resources block the removal
//     (docs/design/deletion-and-purge.md#users-data), and an object with Helm's annotation to keep it stays.
//   - An object that another Kyma in the same cluster uses is handed over to that Kyma.
//   - A namespace stays as long as others use it (namespaceusage.go).
package removal

import (
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

// Removals removes modules' objects. All Manifests share one Removals.
type Removals struct {
	steps   *manifests.Steps
	applier *apply.Applier
}

// New returns the Removals. An object that is handed over to another Manifest is applied on behalf of that Manifest.
func New(steps *manifests.Steps, applier *apply.Applier) *Removals {
	return &Removals{steps: steps, applier: applier}
}
