package status

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Reasons of Events on a Kyma. The Event of a refused module has the reason of the refusal instead. The Event of a Kyma
// in error has the reason of the fault, for example a problem with the access to its cluster.
const (
	EventReady         = "KymaReady"
	EventWarning       = "KymaWarning"
	EventError         = "KymaError"
	EventDeleting      = "KymaDeleting"
	EventModuleReady   = "ModuleReady"
	EventModuleWarning = "ModuleWarning"
	EventModuleError   = "ModuleError"
	EventModuleRemoved = "ModuleRemoved"
	// EventModuleLeft: a module stays although its Kyma is deleted, because the Kyma was deleted with `--cascade=orphan`.
	EventModuleLeft = "ModuleLeft"
	// EventGracePeriod: the annotation with the grace period of the deletion is invalid.
	EventGracePeriod = "PurgeGracePeriodInvalid"
)

// eventDetails holds what Events need in addition to the two statuses.
type eventDetails struct {
	// reasons are the reasons of refused modules, by name.
	reasons map[string]string
	// of is the reason of a fault that affects the whole Kyma, if any.
	of string
	// held says why removals wait, if any do.
	held fault.Fault
	// orphans are the names of Manifests that stay although their Kyma is deleted.
	orphans map[string]bool
}

// event is an Event to record.
type event struct {
	eventType, reason, message, hint string
}

// transitions returns Events for the differences between two statuses, as far as they are worth one. Anything unchanged
// was recorded before.
func transitions(before, after v1beta2.KymaStatus, t eventDetails) []event {
	var events []event
	was := lists.By(before.Modules, func(module v1beta2.ModuleStatus) string { return module.Name })
	for _, module := range after.Modules {
		old, known := was[module.Name]
		delete(was, module.Name)
		// An upgrade may take a module from Ready to Ready.
		upgraded := module.State == shared.StateReady && old.Version != module.Version
		if known && old.State == module.State && old.Message == module.Message && !upgraded {
			continue
		}
		if e, worth := moduleEvent(old, module); worth {
			if reason := t.reasons[module.Name]; reason != "" {
				e.reason = reason
			}
			events = append(events, e)
		}
	}
	for _, module := range before.Modules {
		_, gone := was[module.Name]
		switch {
		case !gone || module.Manifest == nil:
		case t.orphans[module.Manifest.Metadata.Name]:
			events = append(events, event{corev1.EventTypeNormal, EventModuleLeft,
				fmt.Sprintf("module %s stays installed, because its Kyma was deleted with --cascade=orphan and left Manifest %s", module.Name, module.Manifest.Metadata.Name), ""})
		default:
			events = append(events, event{corev1.EventTypeNormal, EventModuleRemoved, fmt.Sprintf("module %s is removed", module.Name), ""})
		}
	}
	if before.RemovalHeldSince == nil && after.RemovalHeldSince != nil {
		events = append(events, event{corev1.EventTypeWarning, budget.ReasonHeld, t.held.Message, hint.Or(t.held.Hint, budget.ReasonHeld)})
	}
	return append(events, kymaEvents(before, after, t.of)...)
}

// merged joins Events: if the Kyma became ready together with modules, the Kyma's Event names these modules.
func merged(events []event) []event {
	last := len(events) - 1
	if last < 1 || events[last].reason != EventReady {
		return events
	}
	var kept []event
	ready := events[last]
	for _, e := range events[:last] {
		if e.reason != EventModuleReady || len(ready.message)+len(e.message) > maxMerged {
			kept = append(kept, e)
			continue
		}
		ready.message += "; " + e.message
	}
	return append(kept, ready)
}

// maxMerged bounds the message of an Event. The API server accepts 1,024 bytes.
const maxMerged = 900

func moduleEvent(old, module v1beta2.ModuleStatus) (event, bool) {
	switch module.State {
	case shared.StateReady:
		if old.State == shared.StateReady && old.Version == module.Version {
			return event{}, false
		}
		return event{corev1.EventTypeNormal, EventModuleReady, fmt.Sprintf("module %s is ready in version %s", module.Name, module.Version), ""}, true
	case shared.StateWarning:
		return event{corev1.EventTypeWarning, EventModuleWarning, fmt.Sprintf("module %s: %s", module.Name, module.Message), module.Hint}, true
	case shared.StateError:
		return event{corev1.EventTypeWarning, EventModuleError, fmt.Sprintf("module %s: %s", module.Name, module.Message), module.Hint}, true
	default:
		return event{}, false
	}
}

func kymaEvents(before, after v1beta2.KymaStatus, of string) []event {
	message, todo := "", ""
	if after.LastOperation != nil {
		message, todo = after.LastOperation.Operation, after.LastOperation.Hint
	}
	sameMessage := before.LastOperation != nil && before.LastOperation.Operation == message
	if before.State == after.State && (after.State != shared.StateError || sameMessage) {
		return nil
	}
	switch after.State {
	case shared.StateReady:
		return []event{{corev1.EventTypeNormal, EventReady, message, todo}}
	case shared.StateWarning:
		return []event{{corev1.EventTypeWarning, EventWarning, message, todo}}
	case shared.StateError:
		return []event{{corev1.EventTypeWarning, cmp.Or(of, EventError), message, todo}}
	case shared.StateDeleting:
		return []event{{corev1.EventTypeNormal, EventDeleting, message, todo}}
	default:
		return nil
	}
}

// purgeEvents returns an Event for an invalid annotation, once: if the status already shows the problem, it was recorded.
func purgeEvents(before, after v1beta2.KymaStatus, problem string) []event {
	if problem == "" || says(before, problem) || !says(after, problem) {
		return nil
	}
	return []event{{corev1.EventTypeWarning, EventGracePeriod, problem, hint.For(EventGracePeriod)}}
}

func says(status v1beta2.KymaStatus, what string) bool {
	operation := status.LastOperation
	return operation != nil && (strings.Contains(operation.Operation, what) || strings.Contains(operation.Hint, what))
}

// record records Events. They are for people and may get lost.
func (a *Activities) record(kyma *v1beta2.Kyma, events []event) {
	if a.Events == nil {
		return
	}
	for _, e := range events {
		hint.Record(a.Events, kyma, e.eventType, e.reason, e.message, e.hint)
	}
}
