package tree

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
)

// Fleet is everything that is shown at one time.
type Fleet struct {
	// Problems are why no work may be done. They are shown first.
	Problems []Problem `json:"problems,omitempty"`
	// Held holds the workflows without a Kyma that make no progress until somebody intervenes.
	Held  []visibility.HeldWorkflow `json:"heldWorkflows,omitempty"`
	Kymas []Kyma                    `json:"kymas"`
}

// Hold records the workflows that make no progress until somebody intervenes, at the Kyma that they belong to. It
// ignores workflows of Kymas that are not shown.
func (f *Fleet) Hold(held []visibility.HeldWorkflow) {
	why := make(map[string]string, len(held))
	for _, each := range held {
		why[each.ID] = each.String()
		if each.Type != kick.KymaWorkflow {
			f.Held = append(f.Held, each)
		}
	}
	for i := range f.Kymas {
		k := &f.Kymas[i]
		k.Workflow = why[kick.KymaWorkflowID(kick.Ref{Namespace: k.Namespace, Name: k.Name, UID: k.UID})]
	}
}

// Problem is why an instance of Lifecycle Manager does no work.
type Problem struct {
	// Instance is the name of the instance (--managed-by).
	Instance string `json:"instance"`
	// Since is when the problem began; zero if unknown.
	Since   time.Time `json:"since,omitzero"`
	Message string    `json:"message"`
}

// String returns the problem as one line.
func (p Problem) String() string {
	text := "no work is done"
	if !p.Since.IsZero() {
		text += " since " + p.Since.UTC().Format(time.RFC3339)
	}
	if p.Instance != "" {
		text += " by " + p.Instance
	}
	return text + ": " + p.Message
}

// lines returns the lines of a problem, in red.
func (p Problem) lines(style Style) []string {
	lines := style.wrapped("", plain(p.String()))
	if style.Color {
		for i, line := range lines {
			lines[i] = "\x1b[31m" + line[:len(line)-1] + "\x1b[0m\n"
		}
	}
	return lines
}
