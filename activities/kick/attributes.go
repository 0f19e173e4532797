package kick

import (
	"maps"
	"slices"

	"go.temporal.io/sdk/temporal"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Search attributes, all of type Keyword. They are registered at start where missing.
const (
	AttributeKymaName      = "KymaName"
	AttributeKymaState     = "KymaState"
	AttributeKymaChannel   = "KymaChannel"
	AttributeModuleName    = "ModuleName"
	AttributeModuleVersion = "ModuleVersion"
	AttributeModuleState   = "ModuleState"
	AttributeRemoteCluster = "RemoteCluster"
)

// Attributes are search attributes by name.
type Attributes map[string]string

// AttributesOf are those that a Manifest's workflow has from its start on, so that it is found also when its first step
// fails.
func AttributesOf(m *v1beta2.Manifest) Attributes {
	return Attributes{
		AttributeKymaName: m.KymaName(), AttributeModuleName: m.ModuleName(), AttributeModuleVersion: m.Spec.Version,
		AttributeModuleState: string(m.Status.State),
	}
}

// typed are the attributes that are not empty, as a start takes them.
func (a Attributes) typed() temporal.SearchAttributes {
	var updates []temporal.SearchAttributeUpdate
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != "" {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(name).ValueSet(a[name]))
		}
	}
	return temporal.NewSearchAttributes(updates...)
}
