package drift

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// share is the part of a module that one pass compares.
type share struct {
	manifest *v1beta2.Manifest
	// kinds are the kinds to compare; nil means all.
	kinds map[schema.GroupKind]bool
}

// of returns the inventory entries to compare.
func (s share) of(all []v1beta2.InventoryEntry) []v1beta2.InventoryEntry {
	if s.kinds == nil {
		return all
	}
	var some []v1beta2.InventoryEntry
	for _, e := range all {
		if gvk, _, err := e.Object(); err == nil && s.kinds[gvk.GroupKind()] {
			some = append(some, e)
		}
	}
	return some
}

// corrections returns the corrections of the objects to compare.
func (s share) corrections() []v1beta2.Correction {
	if s.kinds == nil {
		return s.manifest.Status.Corrections
	}
	return lists.Filter(s.manifest.Status.Corrections, func(c v1beta2.Correction) bool {
		return len(s.of([]v1beta2.InventoryEntry{{ID: c.ID, Version: "v1"}})) > 0
	})
}

// sharesOf returns what one pass compares of each module, and the kinds that it lists for that. It compares modules
// as a whole, except for the agent. The agent is in every cluster and has kinds that few modules have (PriorityClass,
// NetworkPolicy, ValidatingWebhookConfiguration). A pass lists only one of the kinds that the agent alone has, and
// the next pass lists another. So the agent adds one request to a pass, and it is compared completely within as many
// passes as it has such kinds.
func sharesOf(modules []*v1beta2.Manifest, pass int) ([]share, map[schema.GroupKind]schema.GroupVersionKind) {
	listed := map[schema.GroupKind]schema.GroupVersionKind{}
	shares := make([]share, 0, len(modules))
	var inTurns []*v1beta2.Manifest
	for _, m := range modules {
		if takesTurns(m) {
			inTurns = append(inTurns, m)
			continue
		}
		for _, gvk := range surveyedKinds(m) {
			listed[gvk.GroupKind()] = gvk
		}
		shares = append(shares, share{manifest: m})
	}
	for _, m := range inTurns {
		s := share{manifest: m, kinds: map[schema.GroupKind]bool{}}
		var alone []schema.GroupVersionKind
		for _, gvk := range surveyedKinds(m) {
			if _, anyway := listed[gvk.GroupKind()]; anyway {
				s.kinds[gvk.GroupKind()] = true
			} else {
				alone = append(alone, gvk)
			}
		}
		if len(alone) > 0 {
			gvk := alone[pass%len(alone)]
			s.kinds[gvk.GroupKind()], listed[gvk.GroupKind()] = true, gvk
		}
		shares = append(shares, s)
	}
	return shares, listed
}

// takesTurns reports whether a module is the agent and its inventory is known. Without an inventory, a part of the
// agent could not be compared.
func takesTurns(m *v1beta2.Manifest) bool {
	_, known := fleet.Inventory(m)
	return known && desired.IsAgent(m)
}
