package workflows

import (
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

// SearchAttributes lists the names of all search attributes, each of type Keyword.
func SearchAttributes() []string {
	return []string{
		kick.AttributeKymaName, kick.AttributeKymaState, kick.AttributeKymaChannel,
		kick.AttributeRemoteCluster,
	}
}

// startedWith are the search attributes that a workflow was started with. A server that did not know them yet started it
// without.
func startedWith(ctx workflow.Context) map[string]string {
	started := map[string]string{}
	attributes := workflow.GetTypedSearchAttributes(ctx)
	for _, name := range SearchAttributes() {
		if value, is := attributes.GetKeyword(temporal.NewSearchAttributeKeyKeyword(name)); is {
			started[name] = value
		}
	}
	return started
}

// publish upserts the search attributes that changed since they were last upserted.
func (r *kymaRun) publish(ctx workflow.Context, attributes map[string]string) error {
	if r.state.Published == nil {
		r.state.Published = map[string]string{}
	}
	var updates []temporal.SearchAttributeUpdate
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
