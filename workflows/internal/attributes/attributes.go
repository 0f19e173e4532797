// Package attributes writes the search attributes of a Kyma's workflow: Publish those that changed, since each change is an event
// of history and a write of Temporal's visibility.
package attributes

import (
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// mostFailing is how many failing modules a search attribute names at most: Temporal limits its size.
const mostFailing = 20

// StartedWith are the search attributes that a workflow was started with. A server that did not know them yet started it
// without.
func StartedWith(ctx workflow.Context) map[string]string {
	started := map[string]string{}
	known := workflow.GetTypedSearchAttributes(ctx)
	for _, name := range kick.SearchAttributes() {
		if kick.TypeOf(name) != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			continue // It is not known before the first report.
		}
		if value, ok := known.GetKeyword(temporal.NewSearchAttributeKeyKeyword(name)); ok {
			started[name] = value
		}
	}
	return started
}

// Publish upserts the search attributes, and the names of failing modules, that differ from those that were published, and notes
// them there. An empty attribute stays as it was.
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
