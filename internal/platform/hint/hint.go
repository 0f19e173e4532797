// Package hint knows what to do about each reason that a status, an Event or a fault has.
//
// Clients compare some messages word for word, so the remedy has a field of its own beside each message: the hint. Sections is the
// table of all reasons. `make generate` writes docs/reasons.md from it, so a status and the documentation never differ.
package hint

import (
	"cmp"
	"errors"
	"regexp"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// remedies maps reasons to their hints.
//
//nolint:gochecknoglobals // a constant table
var remedies = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, s := range Sections() {
		for _, r := range s.Reasons {
			if remedy := r.remedy(); remedy != "" {
				all[r.Name] = remedy
			}
		}
	}
	return all
})

// remedy returns Do without its markup, and an empty text if nobody has to act.
func (r Reason) remedy() string {
	remedy := strings.ReplaceAll(regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(r.Do, "$1"), "`", "")
	remedy = strings.TrimPrefix(remedy, "nothing; ")
	if remedy == "nothing" || strings.HasPrefix(remedy, "nothing:") || strings.HasPrefix(remedy, "nothing,") {
		return ""
	}
	return remedy
}

// For returns what to do about a reason, and an empty text if nobody has to act.
func For(reason string) string { return remedies()[reason] }

// Or returns the hint for the particular case, or else the remedy for its reason.
func Or(particular, reason string) string {
	return cmp.Or(particular, For(reason))
}

// Of returns the hint of an error, or else the remedy for its reason. It returns an empty string for an error without a
// classification.
func Of(err error) string {
	var known *fault.Error
	if !errors.As(err, &known) {
		return ""
	}
	return Or(known.Hint, known.Reason)
}

// With appends a remedy to a message, for texts that have no separate field for hints.
func With(message, todo string) string {
	if todo == "" {
		return message
	}
	return message + " (" + todo + ")"
}

// OtherFinalizers is the hint if finalizers of other controllers block a resource that we remove.
const OtherFinalizers = "have the controllers that set these finalizers remove them"

// Recorder records Events. A client-go record.EventRecorder is one.
type Recorder interface {
	Event(object runtime.Object, eventType, reason, message string)
	AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any)
}

// Record records an Event and puts its hint into an annotation. Message and hint are bounded like the message of a
// fault.
func Record(events Recorder, object runtime.Object, eventType, reason, message, hint string) {
	message = fault.Message(message)
	if hint == "" {
		events.Event(object, eventType, reason, message)
		return
	}
	events.AnnotatedEventf(object, map[string]string{shared.AnnotationHint: fault.Message(hint)}, eventType, reason, "%s", message)
}
