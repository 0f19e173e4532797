package view

import (
	"fmt"
	"strings"
)

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
