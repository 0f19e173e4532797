// Package drift finds the objects of a module that differ from what was applied, and decides what is to be applied again:
// by the ownership hashes of the inventory, object by object, and after waits that double if somebody else keeps changing
// or deleting an object.
//
// Prober.Probe is the entry point of the sweep; Repair is what the next reconcile of a Manifest decides by.
package drift

import "github.com/kyma-project/lifecycle-manager/internal/modules/manifests"

// Prober compares modules with what their Manifests say.
type Prober struct{ steps *manifests.Steps }

// New returns a prober.
func New(steps *manifests.Steps) *Prober { return &Prober{steps: steps} }
