package tree

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/visibility"
)

// Fleet is all that is shown at a time.
type Fleet struct {
	// Problems are why nothing may come of what is shown, first of all.
	Problems []Problem `json:"problems,omitempty"`
	// Held are the workflows of no Kyma that make no progress until somebody helps.
	Held  []visibility.HeldWorkflow `json:"heldWorkflows,omitempty"`
	Kymas []Kyma                    `json:"kymas"`
}

// Hold notes which workflows make no progress until somebody helps: at the Kyma that they belong to. Those of
// Kymas that are not shown are left out.
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
	// Instance is its name (--managed-by).
	Instance string `json:"instance"`
	// Since is zero if nobody knows since when.
	Since   time.Time `json:"since,omitzero"`
	Message string    `json:"message"`
}

// String is the problem as one line.
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

// lines are a problem's, all in red.
func (p Problem) lines(style Style) []string {
	lines := style.wrapped("", plain(p.String()))
	if style.Color {
		for i, line := range lines {
			lines[i] = "\x1b[31m" + line[:len(line)-1] + "\x1b[0m\n"
		}
	}
	return lines
}
