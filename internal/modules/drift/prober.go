// Package drift finds objects of a module that differ from what was applied, and decides which of them to apply
// again.
//
// The sweep detects drift:
//
//	differences, err := drift.New(steps).Probe(ctx, cachedManifests, pass)
//
// The next reconcile of a differing Manifest corrects it: package apply fills a Repair with what it reads, and
// applies the objects for which Repair.IsCurrent returns false. Repair.Note and Repair.NextCorrections record what
// was corrected.
//
// What must stay true:
//
//   - An object has drifted if its ownership hash (inventory.ObjectHash) or its uid differs from the inventory.
//     Changes to fields that we do not own are not drift.
//   - If the same manager keeps changing or deleting an object, the object is in conflict. It is corrected after
//     waits that double, and the module is Warning (package readiness).
//   - Probe costs one LIST per kind for all modules of a cluster together, of metadata unless the health of the
//     kind matters.
//   - Nothing here writes to the cluster of a module.
package drift

import "github.com/kyma-project/lifecycle-manager/internal/modules/manifests"

// Prober compares modules with the status of their Manifests.
type Prober struct{ steps *manifests.Steps }

// New returns a Prober.
func New(steps *manifests.Steps) *Prober { return &Prober{steps: steps} }
