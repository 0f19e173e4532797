// Package attributes writes the search attributes of a Kyma's workflow. Publish upserts only attributes that changed,
// because each upsert is an event of history and a write in Temporal's visibility store.
package attributes

import (
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// mostFailing bounds the names in the failing modules attribute, because Temporal limits the size of attributes.
const mostFailing = 20

// StartedWith returns the search attributes that the workflow was started with. It returns none if the server did not
// know them yet at the start.
func StartedWith(ctx workflow.Context) map[string]string {
	started := map[string]string{}
	known := workflow.GetTypedSearchAttributes(ctx)
	for _, name := range kick.SearchAttributes() {
		if kick.TypeOf(name) != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			continue // not known before the first report
		}
		if value, ok := known.GetKeyword(temporal.NewSearchAttributeKeyKeyword(name)); ok {
			started[name] = value
		}
	}
	return started
}

// Publish upserts the search attributes and names of failing modules that differ from published, and updates
// published. It leaves an attribute unchanged if its new value is empty.
func Publish(ctx workflow.Context, published, attributes map[string]string, failing []string) error {
	var updates []temporal.SearchAttributeUpdate
	failing = failing[:min(len(failing), mostFailing)]
	if names := strings.Join(failing, ","); published[kick.AttributeFailingModules] != names {
		key := temporal.NewSearchAttributeKeyKeywordList(kick.AttributeFailingModules)
		if len(failing) > 0 {
			updates = append(updates, key.ValueSet(failing))
		} else {
			updates = append(updates, key.ValueUnset())
		}
		published[kick.AttributeFailingModules] = names
	}
	for _, name := range kick.SearchAttributes() {
		if value := attributes[name]; value != "" && published[name] != value {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(name).ValueSet(value))
			published[name] = value
		}
	}
	if len(updates) == 0 {
		return nil
	}
	return workflow.UpsertTypedSearchAttributes(ctx, updates...)
}
