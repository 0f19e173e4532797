package hint

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

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
