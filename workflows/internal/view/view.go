// Package view is what a workflow shows of itself: View answers the status query and becomes, by Markdown, the current
// details in Temporal's web interface; Forced is the part of it that is about a purge. JSON keys are read by users of the
// query and are carried from run to run: they never change.
package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// View is what the workflow is doing, since when, and what it waits for.
type View struct {
	// Of is whose workflow it is, as namespace/name. The summary that a workflow is started with ends with its first
	// run, so the current details begin with it.
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
	// Doing, WaitingFor, Since and Attempt are those of a module that has not settled.
	Doing      string    `json:"doing,omitempty"`
	WaitingFor string    `json:"waitingFor,omitempty"`
	Since      time.Time `json:"since,omitzero"`
	Attempt    int       `json:"attempt,omitempty"`
}

// work says in words what is being done for a module, or what it waits for; empty for a settled one.
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

// Do says what the run does from now on.
func (v *View) Do(what string, now time.Time) {
	if v.Doing != what {
		v.Doing, v.Since = what, now
	}
	v.WaitingFor = ""
}

// Markdown is the view as a short Markdown text: what the run does or waits for, the state, a table of modules.
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

// Now is the part of the details that says what a run does, or waits for. In Temporal's web interface both are Running.
func Now(doing, waitingFor string, since time.Time) string {
	from := since.UTC().Format(time.RFC3339)
	switch {
	case waitingFor != "":
		return fmt.Sprintf("Waits since %s for %s. Temporal shows a workflow that waits as Running.\n\n", from, OneLine(waitingFor))
	case doing != "":
		return fmt.Sprintf("Since %s: %s\n\n", from, OneLine(doing))
	}
	return ""
}

// maxLine keeps the details short: the status has the whole text.
const maxLine = 200

// OneLine is a text for one line of the details.
func OneLine(s string) string {
	return fault.Shorten(strings.NewReplacer("\n", " ", "|", "/").Replace(s), maxLine)
}

// Forced is what a purge forced, for the workflow's details and summaries, which operators read. Each object has an Event,
// a line in the log, and a count in the metric as well (package purge).
type Forced struct {
	// Count is how many objects there are, and Names names the first of them.
	Count int      `json:"count,omitempty"`
	Names []string `json:"names,omitempty"`
}

// maxForcedNames bounds what is carried from run to run, and shown.
const maxForcedNames = 20

// Add adds so many objects, some of which have names.
func (f *Forced) Add(count int, names []string) {
	f.Count += count
	f.Names = append(f.Names, names[:max(0, min(len(names), maxForcedNames-len(f.Names)))]...)
}

// String is such as `3 objects were forced: Sample kyma-system/default, ConfigMap kyma-system/a and 1 more`.
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
