package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
)

// View answers the status query: what the workflow is doing, since when, what it waits for.
type View struct {
	// Of is whose workflow it is, as namespace/name. The summary that a workflow is started with does not outlive its
	// first run, so the current details begin with it.
	Of         string      `json:"of,omitempty"`
	Doing      string      `json:"doing"`
	Since      time.Time   `json:"since"`
	WaitingFor string      `json:"waitingFor,omitempty"`
	LastFault  fault.Fault `json:"lastFault,omitzero"`
	State      string      `json:"state,omitempty"`
	Message    string      `json:"message,omitempty"`
	Modules    []Row       `json:"modules,omitempty"`
	// Forced is what a purge forced in the name of this workflow.
	Forced Forced `json:"forced,omitzero"`
}

// Row is one module in the view of a Kyma.
type Row struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
}

// doing says in the view what the run does now.
func (e *entity) doing(ctx workflow.Context, what string) {
	if e.view.Doing != what {
		e.view.Doing, e.view.Since = what, workflow.Now(ctx)
	}
	e.view.WaitingFor = ""
}

// waitingFor says in the view what the run waits for.
func (e *entity) waitingFor(ctx workflow.Context, what string) {
	e.doing(ctx, "waiting")
	e.view.WaitingFor = what
}

// show sets the current details, a short Markdown text for the UI.
func (e *entity) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, e.view.Markdown())
}

// Markdown is the view as a short Markdown text: the state, what is being waited for, a table of modules.
func (v View) Markdown() string {
	var b strings.Builder
	if v.Of != "" {
		fmt.Fprintf(&b, "%s\n\n", v.Of)
	}
	if v.State != "" {
		fmt.Fprintf(&b, "**%s**", v.State)
		if v.Message != "" {
			fmt.Fprintf(&b, " - %s", oneLine(v.Message))
		}
		b.WriteString("\n\n")
	}
	if !v.LastFault.IsZero() {
		fmt.Fprintf(&b, "Last error: %s (%s)\n\n", oneLine(v.LastFault.Message), v.LastFault.Reason)
	}
	if len(v.Modules) > 0 {
		b.WriteString("| module | version | state | message |\n|---|---|---|---|\n")
		for _, m := range v.Modules {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.Name, m.Version, m.State, oneLine(m.Message))
		}
	}
	if v.Forced.Count > 0 {
		fmt.Fprintf(&b, "\n%s\n", v.Forced)
	}
	return b.String()
}

// maxLine keeps the details short: they are for a glance, the status has the whole text.
const maxLine = 200

// maxSummary is well below the 400 bytes that a server takes for the summary of a timer.
const maxSummary = 120

func oneLine(s string) string {
	return fault.Shorten(strings.NewReplacer("\n", " ", "|", "/").Replace(s), maxLine)
}

// SearchAttributes lists the names of all search attributes, each of type Keyword.
func SearchAttributes() []string {
	return []string{
		kick.AttributeKymaName, kick.AttributeKymaState, kick.AttributeKymaChannel,
		kick.AttributeModuleName, kick.AttributeModuleVersion, kick.AttributeModuleState, kick.AttributeRemoteCluster,
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
func (e *entity) publish(ctx workflow.Context, attributes map[string]string) error {
	var updates []temporal.SearchAttributeUpdate
	for _, name := range SearchAttributes() {
		if value := attributes[name]; value != "" && e.published[name] != value {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(name).ValueSet(value))
			e.published[name] = value
		}
	}
	if len(updates) == 0 {
		return nil
	}
	return workflow.UpsertTypedSearchAttributes(ctx, updates...)
}
