package resolve

import (
	"slices"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
)

// noteUnsettled notes which of the Kyma's Manifests need work: those that this reconcile wrote or deleted, and those that an
// earlier one did if its result was lost, and those of modules that were named.
func (v *View) noteUnsettled(result *Result, named []string) {
	all := result.written
	result.written, result.absent = nil, nil
	for _, plan := range slices.Concat(v.Modules, v.Mandatory, v.UpgradesInRemoval) {
		all = append(all, plan.Existing)
	}
	for _, obsolete := range v.Obsolete {
		all = append(all, obsolete.Manifest)
	}
	seen := map[string]bool{}
	for _, m := range slices.Concat(all, v.Unwanted) {
		if m == nil || seen[m.Name] {
			continue
		}
		seen[m.Name] = true
		deleted := !m.DeletionTimestamp.IsZero() || slices.Contains(result.Deleted, m.Name)
		switch {
		case deleted && manifests.HasOwnFinalizer(m):
			result.Removing = append(result.Removing, kick.RefOf(m))
		case deleted:
		case m.Status.InputsDigest != manifests.InputsDigest(m) || slices.Contains(named, m.ModuleName()):
			result.Begin = append(result.Begin, kick.RefOf(m))
		case !m.Status.Settled:
			result.Unsettled = append(result.Unsettled, kick.RefOf(m))
		}
	}
}
