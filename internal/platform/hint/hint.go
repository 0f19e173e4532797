// Package hint knows what can be done about each reason that a status, an Event or a fault has.
//
// Messages that clients compare stay word for word; what to do about them is a field of its own beside each. The
// words are those of the tables in docs/operating.md, from which `make generate` writes zz_generated.go, so that a
// status and the documentation never differ.
package hint

import (
	"cmp"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// For returns what can be done about a reason; empty where nothing can, or need be, done.
func For(reason string) string { return ofReason(reason) }

// Or returns what is known of the one case, or else what can be done about its reason.
func Or(particular, reason string) string {
	return cmp.Or(particular, For(reason))
}

// Of returns what can be done about an error: what is known of the one case, or of its reason. Of an error that nobody has
// classified, nothing is known.
func Of(err error) string {
	var known *fault.Error
	if !errors.As(err, &known) {
		return ""
	}
	return Or(known.Hint, known.Reason)
}

// With returns a message with what can be done about it, for texts that have no field of their own for that.
func With(message, todo string) string {
	if todo == "" {
		return message
	}
	return message + " (" + todo + ")"
}

// OtherFinalizers is what can be done where somebody else's finalizers block a resource that we are to remove.
const OtherFinalizers = "whoever set these finalizers must take them off"

// Recorder records Events. A client-go record.EventRecorder is one.
type Recorder interface {
	Event(object runtime.Object, eventType, reason, message string)
	AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any)
}

// Record records an Event with what can be done about it, which is in an annotation beside the message. Both are bounded
// like the message of a fault.
func Record(events Recorder, object runtime.Object, eventType, reason, message, hint string) {
	message = fault.Message(message)
	if hint == "" {
		events.Event(object, eventType, reason, message)
		return
	}
	events.AnnotatedEventf(object, map[string]string{shared.AnnotationHint: fault.Message(hint)}, eventType, reason, "%s", message)
}
