package tree

import (
	"time"
)

// Fleet is all that is shown at a time.
type Fleet struct {
	// Problems are why nothing may come of what is shown, first of all.
	Problems []Problem `json:"problems,omitempty"`
	Kymas    []Kyma    `json:"kymas"`
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
