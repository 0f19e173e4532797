package kick

import (
	"maps"
	"slices"

	"go.temporal.io/sdk/temporal"
)

// Search attributes, of type Keyword unless they say otherwise. A process registers them when it starts.
const (
	AttributeKymaName      = "KymaName"
	AttributeKymaState     = "KymaState"
	AttributeKymaChannel   = "KymaChannel"
	AttributeRemoteCluster = "RemoteCluster"
)

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
