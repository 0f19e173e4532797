package workflows

import (
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
)

// doing shows what the run does now.
func (r *kymaRun) doing(ctx workflow.Context, what string) {
	r.view.Do(what, workflow.Now(ctx))
	r.show(ctx)
}

// waitingFor shows what the run waits for.
func (r *kymaRun) waitingFor(ctx workflow.Context, what string) {
	r.doing(ctx, "waiting")
	r.view.WaitingFor = what
	r.show(ctx)
}

// show sets the current details, a short Markdown text for the UI.
func (r *kymaRun) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, r.view.Markdown())
}

// SearchAttributes lists the names of all search attributes.
func SearchAttributes() []string {
	return []string{
		kick.AttributeKymaName, kick.AttributeKymaState, kick.AttributeKymaChannel, kick.AttributeRemoteCluster, kick.AttributeFailingModules,
	}
}

// mostFailing is how many failing modules a search attribute names at most: Temporal limits its size.
const mostFailing = 20

// startedWith are the search attributes that a workflow was started with. A server that did not know them yet started it
// without.
func startedWith(ctx workflow.Context) map[string]string {
	started := map[string]string{}
	attributes := workflow.GetTypedSearchAttributes(ctx)
	for _, name := range SearchAttributes() {
		if kick.TypeOf(name) != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			continue // It is not known before the first report.
		}
		if value, is := attributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(name)); is {
			started[name] = value
		}
	}
	return started
}

// publish upserts the search attributes that changed since they were last upserted.
func (r *kymaRun) publish(ctx workflow.Context, attributes map[string]string, failing []string) error {
	if r.state.Published == nil {
		r.state.Published = map[string]string{}
	}
	var updates []temporal.SearchAttributeUpdate
	failing = failing[:min(len(failing), mostFailing)]
	if names := strings.Join(failing, ","); r.state.Published[kick.AttributeFailingModules] != names {
		key := temporal.NewSearchAttributeKeyKeywordList(kick.AttributeFailingModules)
		if len(failing) > 0 {
			updates = append(updates, key.ValueSet(failing))
		} else {
			updates = append(updates, key.ValueUnset())
		}
		r.state.Published[kick.AttributeFailingModules] = names
	}
	for _, name := range SearchAttributes() {
		if value := attributes[name]; value != "" && r.state.Published[name] != value {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(name).ValueSet(value))
			r.state.Published[name] = value
		}
	}
	if len(updates) == 0 {
		return nil
	}
	return workflow.UpsertTypedSearchAttributes(ctx, updates...)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
