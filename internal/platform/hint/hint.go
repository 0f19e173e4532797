// Package hint knows the remedy for each reason of a status, an Event or a fault.
//
// Clients compare messages word for word, so messages do not change. A field beside each message holds the remedy.
// `make generate` writes zz_generated.go from the tables in docs/operating.md, so a status and the documentation never
// differ.
package hint

import (
	"cmp"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// For returns the remedy for a reason. It is empty if nothing can be done, or nothing needs to be done.
func For(reason string) string { return ofReason(reason) }

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

// OtherFinalizers is the remedy if finalizers of other owners block the removal of a resource.
const OtherFinalizers = "whoever set these finalizers must remove them"

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
