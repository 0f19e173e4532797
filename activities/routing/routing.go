// Package routing has events from remote clusters arrive at the listener: for each Watcher a VirtualService of Istio in the
// control plane, or, where the listener is reached without Istio, nothing but a word in the Watcher's status.
//
//	routing.go         what a Watcher needs, as a pure decision (Decide), and who receives its events (Manager)
//	virtualservice.go  the VirtualService that it needs
//	gateways.go        which Gateways and hosts that is for
//	status.go          the status that follows
//	outdated.go        whether a Watcher needs another reconcile, for watchers
//	activities.go      ReconcileWatcher does it; apply.go and release.go are its parts
//	address.go         the address that agents are given
//	istio.go           what is needed of Istio
package routing

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Reasons of Events on a Watcher, and of what is wrong with it.
const (
	// EventReady: the events of the Watcher arrive.
	EventReady = "WatcherReady"
	// EventGatewayNotFound: no Gateway matches the selector, or none with a host that may be used.
	EventGatewayNotFound = "WatcherGatewayNotFound"
	// EventPathTaken: an older Watcher has events for the same manager go to another Service.
	EventPathTaken = "WatcherPathTaken"
	// EventNameTaken: the VirtualService of the Watcher's name belongs to somebody else.
	EventNameTaken = "WatcherNameTaken"
	// EventInvalid: the Watcher's own spec cannot be followed.
	EventInvalid = "WatcherInvalid"
	// EventNotRouted: without Istio, events reach the listener of this instance only.
	EventNotRouted = "WatcherNotRouted"
	// EventRefused: the control plane refuses the VirtualService.
	EventRefused = "WatcherRefused"
)

// Situation is all that the routing of a Watcher depends on.
type Situation struct {
	Watcher *v1beta2.Watcher
	// Watchers are all that are known, the Watcher itself among them or not.
	Watchers []v1beta2.Watcher
	// Gateways are all of the control plane.
	Gateways []*networkingv1.Gateway
	// Present is the VirtualService of the Watcher's name; nil where there is none.
	Present *networkingv1.VirtualService
}

// Plan is what a Watcher needs.
type Plan struct {
	// Want is the VirtualService; nil where none can be made, or none is needed. What is there stays then, unless Remove.
	Want *networkingv1.VirtualService
	// Remove is true where the present VirtualService would be wrong.
	Remove bool
	// Problem is the reason of what is wrong; empty where nothing is.
	Problem string
	// State and Message are those of the status.
	State   shared.State
	Message string
}

// Decide works out what a Watcher needs that is not being deleted. That no Gateway matches removes nothing.
func Decide(settings desired.Settings, s Situation) Plan {
	settings = settings.WithDefaults()
	manager := Manager(settings, s.Watcher)
	if problem := invalid(s.Watcher, manager); problem != "" {
		return failed(EventInvalid, "%s", problem)
	}
	if settings.Watching.Routing != desired.RoutingIstio {
		return direct(settings, manager)
	}
	if older := holder(settings, s, manager); older != nil {
		p := failed(EventPathTaken, "events for %s go to %s already, by Watcher %s, which is older; this one asks for %s",
			manager, destination(older), kick.RefOf(older), destination(s.Watcher))
		p.Remove = true
		return p
	}
	if p, taken := taken(s); taken {
		return p
	}
	chosen, err := matching(s.Watcher, s.Gateways)
	if err != nil {
		return failed(EventInvalid, "spec.gateway.selector: %v", err)
	}
	if len(chosen.names) == 0 {
		return failed(EventGatewayNotFound, "no Gateway matches the selector %s", selectorText(s.Watcher))
	}
	if len(chosen.hosts) == 0 {
		return failed(EventGatewayNotFound, "Gateway %s has no host that namespace %s may use",
			strings.Join(chosen.names, ", "), s.Watcher.Namespace)
	}
	return Plan{
		Want: virtualService(settings, s.Watcher, manager, chosen), State: shared.StateReady,
		Message: fmt.Sprintf("events for %s go from Gateway %s to %s", manager, strings.Join(chosen.names, ", "), destination(s.Watcher)),
	}
}

// direct is the plan without Istio. The listener takes the events of this instance only.
func direct(settings desired.Settings, manager string) Plan {
	if manager != settings.ManagedBy {
		return failed(EventNotRouted, "these events are for %s, and without Istio only those for %s arrive", manager, settings.ManagedBy)
	}
	return Plan{State: shared.StateReady, Message: "no VirtualService is needed: agents are given the address " + settings.Watching.Address}
}

func failed(problem, format string, args ...any) Plan {
	return Plan{Problem: problem, State: shared.StateError, Message: fmt.Sprintf(format, args...)}
}

// Manager is who receives the events of a Watcher: its name is part of the path of the URL.
func Manager(settings desired.Settings, w *v1beta2.Watcher) string { return settings.ManagerOf(w) }

// invalid says what is wrong with a spec; empty where nothing is. The schema refuses the same, except in what was stored
// before it did.
func invalid(w *v1beta2.Watcher, manager string) string {
	service := w.Spec.ServiceInfo
	switch {
	case service.Port < 1 || service.Port > 65535:
		return fmt.Sprintf("spec.serviceInfo.port: %d is not between 1 and 65535", service.Port)
	case len(validation.IsDNS1035Label(service.Name)) > 0:
		return fmt.Sprintf("spec.serviceInfo.name: %q is no name of a Service", service.Name)
	case len(validation.IsDNS1123Label(service.Namespace)) > 0:
		return fmt.Sprintf("spec.serviceInfo.namespace: %q is no name of a namespace", service.Namespace)
	case len(validation.IsDNS1123Label(manager)) > 0:
		return fmt.Sprintf("spec.manager: %q cannot be part of a path", manager)
	}
	return ""
}

// destination is the Service that events of a Watcher go to.
func destination(w *v1beta2.Watcher) string {
	return fmt.Sprintf("%s:%d", serviceHost(w), w.Spec.ServiceInfo.Port)
}

// holder is the oldest of the Watchers that have the events for the same manager go elsewhere, if it is older than this
// one. One that is being deleted holds the path until it is gone.
func holder(settings desired.Settings, s Situation, manager string) *v1beta2.Watcher {
	var oldest *v1beta2.Watcher
	for i := range s.Watchers {
		other := &s.Watchers[i]
		if other.UID == s.Watcher.UID || !settings.Ours(other.Labels) || Manager(settings, other) != manager ||
			destination(other) == destination(s.Watcher) || !isOlder(other, s.Watcher) {
			continue
		}
		if oldest == nil || isOlder(other, oldest) {
			oldest = other
		}
	}
	return oldest
}

func isOlder(a, b *v1beta2.Watcher) bool {
	if at, bt := a.CreationTimestamp, b.CreationTimestamp; !at.Equal(&bt) {
		return at.Before(&bt)
	}
	return a.UID < b.UID
}

// taken says whether the VirtualService of the Watcher's name is not its own: then it is not touched.
func taken(s Situation) (Plan, bool) {
	if s.Present == nil || isOurs(s.Present, s.Watcher) {
		return Plan{}, false
	}
	name := s.Present.Namespace + "/" + s.Present.Name
	former := slices.ContainsFunc(s.Present.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == shared.KindWatcher && o.Name == s.Watcher.Name
	})
	if !former {
		return failed(EventNameTaken, "VirtualService %s exists already, and does not belong to this Watcher", name), true
	}
	p := failed("", "VirtualService %s belongs to an earlier Watcher of this name, and is removed with it", name)
	p.State = shared.StateProcessing
	return p, true
}

// isOurs tells whether a VirtualService belongs to a Watcher: it has it as an owner. A mark of ours without any owner is one
// that somebody took the owner off.
func isOurs(object metav1.Object, w *v1beta2.Watcher) bool {
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID == w.UID {
			return true
		}
	}
	return len(object.GetOwnerReferences()) == 0 && object.GetLabels()[shared.LabelPurpose] == purpose
}
