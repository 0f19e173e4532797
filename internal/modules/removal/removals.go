// Package removal removes the objects of a module: only those that carry its mark, with their uid as a precondition, in
// the reverse order of their stages. What users' data depends on, what another Kyma in the same cluster uses, and a
// namespace that others use stay.
//
// A Remover does it for one Manifest. Packages install (what a new version no longer has), uninstall and purge use it.
package removal

import (
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

// Removals removes modules' objects. It is shared by all Manifests.
type Removals struct {
	steps   *manifests.Steps
	applier *apply.Applier
}

// New returns the removals. An object that is handed over to another Manifest is applied on behalf of
// that Manifest.
func New(steps *manifests.Steps, applier *apply.Applier) *Removals {
	return &Removals{steps: steps, applier: applier}
}
