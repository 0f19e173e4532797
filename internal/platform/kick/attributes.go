package kick

import (
	"maps"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
)

// Search attributes. A process registers them when it starts.
const (
	AttributeKymaName      = "KymaName"
	AttributeKymaState     = "KymaState"
	AttributeKymaChannel   = "KymaChannel"
	AttributeRemoteCluster = "RemoteCluster"
	// AttributeFailingModules are the names of modules with the state Error.
	AttributeFailingModules = "FailingModules"
)

// SearchAttributes lists the names of all search attributes.
func SearchAttributes() []string {
	return []string{AttributeKymaName, AttributeKymaState, AttributeKymaChannel, AttributeRemoteCluster, AttributeFailingModules}
}

// TypeOf is the type of a search attribute.
func TypeOf(attribute string) enumspb.IndexedValueType {
	if attribute == AttributeFailingModules {
		return enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST
	}
	return enumspb.INDEXED_VALUE_TYPE_KEYWORD
}

// Attributes are search attributes by name.
type Attributes map[string]string

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
