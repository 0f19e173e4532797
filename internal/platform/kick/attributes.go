package kick

import (
	"maps"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// Search attributes. A process registers them at its start.
const (
	AttributeKymaName      = "KymaName"
	AttributeKymaState     = "KymaState"
	AttributeKymaChannel   = "KymaChannel"
	AttributeRemoteCluster = "RemoteCluster"
	// AttributeFailingModules holds the names of modules with the state Error.
	AttributeFailingModules = "FailingModules"
)

// SearchAttributes lists the names of all search attributes.
func SearchAttributes() []string {
	return []string{AttributeKymaName, AttributeKymaState, AttributeKymaChannel, AttributeRemoteCluster, AttributeFailingModules}
}

// TypeOf returns the type of a search attribute.
func TypeOf(attribute string) enumspb.IndexedValueType {
	if attribute == AttributeFailingModules {
		return enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST
	}
	return enumspb.INDEXED_VALUE_TYPE_KEYWORD
}

// Attributes holds the values of search attributes by name.
type Attributes map[string]string

// typed returns the attributes that are not empty, for the start of a workflow.
func (a Attributes) typed() temporal.SearchAttributes {
	var updates []temporal.SearchAttributeUpdate
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != "" {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(name).ValueSet(a[name]))
		}
	}
	return temporal.NewSearchAttributes(updates...)
}
