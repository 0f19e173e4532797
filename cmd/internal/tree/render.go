package tree

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Style configures how trees are drawn.
type Style struct {
	// Width is the number of columns. Messages are wrapped to it; 0 means no wrapping.
	Width int
	// Color shows states in color.
	Color bool
	// Wide adds details: channels, installed versions, Manifests, conditions, clusters.
	Wide bool
}

// Render draws the trees. Messages are never cut. A message is on the row of its module if it fits, else below the row.
func Render(out io.Writer, fleet Fleet, style Style) error {
	_, err := io.WriteString(out, strings.Join(Lines(fleet, style), ""))
	return err
}

// Lines returns the lines of the trees, each with a line break.
func Lines(fleet Fleet, style Style) []string {
	var lines []string
	for _, problem := range fleet.Problems {
		lines = append(lines, problem.lines(style)...)
	}
	for _, held := range fleet.Held {
		lines = append(lines, style.wrapped("", "workflow "+held.ID+": "+held.String())...)
	}
	for _, k := range fleet.Kymas {
		lines = append(lines, kymaLines(k, style)...)
	}
	return lines
}

func kymaLines(k Kyma, style Style) []string {
	k = printable(k)
	head := k.Namespace + "/" + k.Name + "  " + style.state(k.State) + "  channel " + k.Channel
	if k.ModulesReady != "" {
		head += "  modules " + k.ModulesReady
	}
	lines := []string{head + took(k.ReadyAfter, k.Age) + "\n"}
	stem := "│  "
	if len(k.Modules) == 0 {
		stem = "   "
	}
	if k.Message != "" && k.State != shared.StateReady {
		lines = append(lines, style.wrapped(stem, k.Message)...)
	}
	if k.Hint != "" && !slices.ContainsFunc(k.Modules, func(m Module) bool { return m.Hint == k.Hint }) {
		lines = append(lines, style.wrapped(stem, "hint: "+k.Hint)...)
	}
	if k.Workflow != "" {
		lines = append(lines, style.wrapped(stem, "workflow: "+k.Workflow)...)
	}
	if k.WaitsForChange {
		lines = append(lines, style.wrapped(stem, "waits for a change: there is no retry before something changes")...)
	}
	if style.Wide {
		lines = append(lines, style.details(stem, k)...)
	}
	return append(lines, style.modules(k.Modules)...)
}

// printable removes control characters from the messages, because some messages come from remote clusters.
func printable(k Kyma) Kyma {
	k.Message, k.Hint = plain(k.Message), plain(k.Hint)
	k.Conditions, k.Modules = slices.Clone(k.Conditions), slices.Clone(k.Modules)
	for i := range k.Conditions {
		k.Conditions[i] = plain(k.Conditions[i])
	}
	for i := range k.Modules {
		k.Modules[i].Message, k.Modules[i].Hint = plain(k.Modules[i].Message), plain(k.Modules[i].Hint)
	}
	return k
}

func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return ' '
		}
		return r
	}, text)
}

// details returns the lines of a Kyma that only a wide tree has.
func (l Style) details(stem string, k Kyma) []string {
	var lines []string
	if r := k.Remote; r != nil {
		text := fmt.Sprintf("remote Kyma %s/%s in cluster %s", r.Namespace, r.Name, cmp.Or(r.Cluster, "(not known yet)"))
		if r.Unreachable != "" {
			text += ", which is unreachable: " + r.Unreachable
		}
		lines = append(lines, l.wrapped(stem, text)...)
	}
	for _, condition := range k.Conditions {
		lines = append(lines, l.wrapped(stem, "condition "+condition)...)
	}
	return lines
}

// modules returns the rows of a Kyma's modules, with aligned columns, and messages beside or below the rows.
func (l Style) modules(modules []Module) []string {
	rows := make([][]string, 0, len(modules))
	for i, m := range modules {
		branch := "├─ "
		if i == len(modules)-1 {
			branch = "└─ "
		}
		rows = append(rows, append([]string{branch + m.Name}, l.cells(m)...))
	}
	widths := widthsOf(rows)
	var lines []string
	for i, m := range modules {
		row := l.aligned(rows[i], widths, m.State)
		stem := "│    "
		if i == len(modules)-1 {
			stem = "     "
		}
		beside := fullWidth(widths)
		if m.Message != "" && !strings.Contains(m.Message, "\n") && (l.Width == 0 || beside+runewidth.StringWidth(m.Message) <= l.Width) {
			lines = append(lines, row+m.Message+"\n")
		} else {
			lines = append(lines, strings.TrimRight(row, " ")+"\n")
			lines = append(lines, l.wrapped(stem, m.Message)...)
		}
		if m.Hint != "" && (l.Wide || m.State != shared.StateProcessing) {
			lines = append(lines, l.wrapped(stem, "hint: "+m.Hint)...)
		}
	}
	return lines
}

// stateCell is the index of the state's column.
const stateCell = 2

// cells returns the columns of a module after its name.
func (l Style) cells(m Module) []string {
	after, objects := "", ""
	if m.ReadyAfter > 0 {
		after = "after " + duration.HumanDuration(m.ReadyAfter)
	}
	if m.Objects != nil {
		objects = fmt.Sprintf("%d/%d objects", m.Objects.Ready, m.Objects.Total)
		if l.Wide && m.Objects.Failed > 0 {
			objects += fmt.Sprintf(" (%d failed)", m.Objects.Failed)
		}
	}
	cells := []string{m.Version, stateOf(m.State), after, objects}
	if !l.Wide {
		return cells
	}
	channel, installed := "", ""
	if m.Channel != "" {
		channel = "channel " + m.Channel
	}
	if m.Installed != "" && m.Installed != m.Version {
		installed = "installed " + m.Installed
	}
	return append(cells, channel, installed, m.Manifest)
}

// widthsOf returns the widths of the columns; 0 for a column that is empty in all rows.
func widthsOf(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	return widths
}

// gap separates two columns.
const gap = "  "

func fullWidth(widths []int) int {
	full := 0
	for _, width := range widths {
		if width > 0 {
			full += width + len(gap)
		}
	}
	return full
}

func (l Style) aligned(cells []string, widths []int, state shared.State) string {
	var row strings.Builder
	for i, cell := range cells {
		if widths[i] == 0 {
			continue
		}
		padding := strings.Repeat(" ", widths[i]-runewidth.StringWidth(cell)) + gap
		if i == stateCell {
			cell = l.state(state)
		}
		row.WriteString(cell + padding)
	}
	return row.String()
}

func stateOf(s shared.State) string {
	if s == shared.StateUnknown {
		return "(no state yet)"
	}
	return string(s)
}

// state returns the word for a state, in its color.
func (l Style) state(s shared.State) string {
	const red, green, yellow, blue = 31, 32, 33, 34
	color := 0
	switch s {
	case shared.StateReady:
		color = green
	case shared.StateError:
		color = red
	case shared.StateWarning:
		color = yellow
	case shared.StateProcessing, shared.StateDeleting:
		color = blue
	case shared.StateUnknown, shared.StateUnmanaged:
	}
	if !l.Color || color == 0 {
		return stateOf(s)
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, stateOf(s))
}

func took(readyAfter, age time.Duration) string {
	if readyAfter > 0 {
		return "  ready after " + duration.HumanDuration(readyAfter)
	}
	return "  age " + duration.HumanDuration(age)
}

// wrapped returns the lines of a text, each with the stem in front, wrapped to the width.
func (l Style) wrapped(stem, text string) []string {
	if text == "" {
		return nil
	}
	var lines []string
	room := l.Width - runewidth.StringWidth(stem)
	for paragraph := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if l.Width == 0 {
			lines = append(lines, stem+paragraph+"\n")
			continue
		}
		// On a screen that is too narrow, draw long lines rather than nothing.
		const least = 20
		for _, line := range wrap(paragraph, max(room, least)) {
			lines = append(lines, stem+line+"\n")
		}
	}
	return lines
}

// wrap breaks a line between words. It breaks words that are longer than a line.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case runewidth.StringWidth(line)+1+runewidth.StringWidth(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for runewidth.StringWidth(line) > width {
			part := runewidth.Truncate(line, width, "")
			lines = append(lines, part)
			line = line[len(part):]
		}
	}
	return append(lines, line)
}
