// Package view holds what a workflow shows of itself. A View answers the status query. Its Markdown becomes the
// current details in Temporal's web UI. Forced is the part about a purge. Users of the query read the JSON keys, and
// runs carry them, so they never change.
package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// View is what the workflow is doing, since when, and what it waits for.
type View struct {
	// Of is the namespace/name of the workflow's resource. Only the first run has the summary that the workflow was
	// started with, so the current details begin with this name.
	Of         string      `json:"of,omitempty"`
	Doing      string      `json:"doing"`
	Since      time.Time   `json:"since"`
	WaitingFor string      `json:"waitingFor,omitempty"`
	LastFault  fault.Fault `json:"lastFault,omitzero"`
	State      string      `json:"state,omitempty"`
	Message    string      `json:"message,omitempty"`
	Modules    []Row       `json:"modules,omitempty"`
	// Forced lists the objects that a purge forced on behalf of this workflow.
	Forced Forced `json:"forced,omitzero"`
}

// Row is one module in the view of a Kyma.
type Row struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Doing, WaitingFor, Since and Attempt are set if the module has not settled.
	Doing      string    `json:"doing,omitempty"`
	WaitingFor string    `json:"waitingFor,omitempty"`
	Since      time.Time `json:"since,omitzero"`
	Attempt    int       `json:"attempt,omitempty"`
}

// work returns the current work on a module, or what it waits for. It is empty for a settled module.
func (r Row) work() string {
	text := OneLine(r.Doing)
	if r.WaitingFor != "" {
		text = "waits for " + OneLine(r.WaitingFor)
	}
	if text == "" {
		return ""
	}
	if r.Attempt > 0 {
		text += fmt.Sprintf(", after %d failed attempts", r.Attempt)
	}
	return text + " since " + r.Since.UTC().Format(time.RFC3339)
}

// Do records what the run does now.
func (v *View) Do(what string, now time.Time) {
	if v.Doing != what {
		v.Doing, v.Since = what, now
	}
	v.WaitingFor = ""
}

// Markdown returns the view as a short Markdown text: current work, state, and a table of modules.
func (v View) Markdown() string {
	var b strings.Builder
	if v.Of != "" {
		fmt.Fprintf(&b, "%s\n\n", v.Of)
	}
	b.WriteString(Now(v.Doing, v.WaitingFor, v.Since))
	if v.State != "" {
		fmt.Fprintf(&b, "**%s**", v.State)
		if v.Message != "" {
			fmt.Fprintf(&b, " - %s", OneLine(v.Message))
		}
		b.WriteString("\n\n")
	}
	if !v.LastFault.IsZero() {
		fmt.Fprintf(&b, "Last error: %s (%s)\n\n", OneLine(v.LastFault.Message), v.LastFault.Reason)
	}
	if len(v.Modules) > 0 {
		b.WriteString("| module | version | state | message | work |\n|---|---|---|---|---|\n")
		for _, m := range v.Modules {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", m.Name, m.Version, m.State, OneLine(m.Message), m.work())
		}
	}
	if v.Forced.Count > 0 {
		fmt.Fprintf(&b, "\n%s\n", v.Forced)
	}
	return b.String()
}

// Now returns the line of the details about the current work or wait. Temporal's web UI shows both as Running.
func Now(doing, waitingFor string, since time.Time) string {
	from := since.UTC().Format(time.RFC3339)
	switch {
	case waitingFor != "":
		return fmt.Sprintf("Waiting since %s for %s. Temporal shows waiting workflows as Running.\n\n", from, OneLine(waitingFor))
	case doing != "":
		return fmt.Sprintf("Since %s: %s\n\n", from, OneLine(doing))
	}
	return ""
}

// maxLine keeps the details short. The resource's status has the full text.
const maxLine = 200

// OneLine shortens a text to one line of the details.
func OneLine(s string) string {
	return fault.Shorten(strings.NewReplacer("\n", " ", "|", "/").Replace(s), maxLine)
}

// Forced lists the objects that a purge forced, for the workflow's details and summaries. Package activities/purge
// also reports each object as an Event, in the log and in a metric.
type Forced struct {
	// Count is the number of objects. Names holds the first of them.
	Count int      `json:"count,omitempty"`
	Names []string `json:"names,omitempty"`
}

// maxForcedNames bounds Names, because runs carry and show them.
const maxForcedNames = 20

// Add adds count objects. names may hold fewer.
func (f *Forced) Add(count int, names []string) {
	f.Count += count
	f.Names = append(f.Names, names[:max(0, min(len(names), maxForcedNames-len(f.Names)))]...)
}

// String returns, for example, `3 objects were forced: Sample kyma-system/default, ConfigMap kyma-system/a and 1
// more`.
func (f Forced) String() string {
	text := fmt.Sprintf("%d objects were forced", f.Count)
	if f.Count == 1 {
		text = "1 object was forced"
	}
	if len(f.Names) > 0 {
		text += ": " + strings.Join(f.Names, ", ")
		if more := f.Count - len(f.Names); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	return text
}
