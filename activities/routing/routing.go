// Package routing routes events from remote clusters to the listener. With Istio, each Watcher gets a VirtualService in
// the control plane. Without Istio, nothing is created and only the Watcher's status is written.
//
// ReconcileWatcher (activities.go) is the activity. It gathers a Situation, calls the pure function Decide for a Plan,
// carries the Plan out (apply.go, release.go) and writes the status (status.go). Watches call Outdated to find out
// whether a Watcher needs a reconcile. Addresses (address.go) finds the listener's address for agents.
//
// What must stay true:
//   - If no Gateway matches, an existing VirtualService stays.
//   - If two Watchers route events of the same manager to different Services, the older one keeps the path.
//   - A VirtualService that belongs to somebody else is never changed.
//
// The other files: virtualservice.go builds the VirtualService, gateways.go selects Gateways and hosts, and istio.go
// registers and checks Istio's kinds.
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

// Reasons of Events on a Watcher, which are also the values of Plan.Problem.
const (
	// EventReady: events for the Watcher arrive.
	EventReady = "WatcherReady"
	// EventGatewayNotFound: no Gateway matches the selector, or no matching Gateway has a usable host.
	EventGatewayNotFound = "WatcherGatewayNotFound"
	// EventPathTaken: an older Watcher routes events for the same manager to another Service.
	EventPathTaken = "WatcherPathTaken"
	// EventNameTaken: a VirtualService with the Watcher's name exists and belongs to somebody else.
	EventNameTaken = "WatcherNameTaken"
	// EventInvalid: the Watcher's spec is invalid.
	EventInvalid = "WatcherInvalid"
	// EventNotRouted: the Watcher is for another manager. Without Istio, only events for this instance's manager arrive.
	EventNotRouted = "WatcherNotRouted"
	// EventRefused: the control plane refused the VirtualService.
	EventRefused = "WatcherRefused"
)

// Situation holds everything that the routing of a Watcher depends on.
type Situation struct {
	Watcher *v1beta2.Watcher
	// Watchers are all known Watchers. They may include Watcher itself.
	Watchers []v1beta2.Watcher
	// Gateways are all Gateways of the control plane.
	Gateways []*networkingv1.Gateway
	// Present is the VirtualService with the Watcher's name, or nil if there is none.
	Present *networkingv1.VirtualService
}

// Plan says what to do for a Watcher.
type Plan struct {
	// Want is the desired VirtualService. It is nil if none can be built or none is needed. An existing one then stays,
	// unless Remove is set.
	Want *networkingv1.VirtualService
	// Remove is true if the present VirtualService would be wrong.
	Remove bool
	// Problem is the reason of the Event about a problem, or "" if there is none.
	Problem string
	// State and Message go into the Watcher's status.
	State   shared.State
	Message string
}

// Decide plans what to do for a Watcher that is not being deleted. If no Gateway matches, it removes nothing.
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

// direct returns the plan without Istio. The listener then takes only the events of this instance.
func direct(settings desired.Settings, manager string) Plan {
	if manager != settings.ManagedBy {
		return failed(EventNotRouted, "these events are for %s; without Istio, only events for %s arrive", manager, settings.ManagedBy)
	}
	return Plan{State: shared.StateReady, Message: "no VirtualService is needed: agents are given the address " + settings.Watching.Address}
}

func failed(problem, format string, args ...any) Plan {
	return Plan{Problem: problem, State: shared.StateError, Message: fmt.Sprintf(format, args...)}
}

// Manager returns the name of the manager that receives the events of a Watcher. The name is part of the URL path.
func Manager(settings desired.Settings, w *v1beta2.Watcher) string { return settings.ManagerOf(w) }

// invalid returns what is wrong with a spec, or "" if nothing is. The schema refuses the same mistakes, but not in
// Watchers stored before the schema did.
func invalid(w *v1beta2.Watcher, manager string) string {
	service := w.Spec.ServiceInfo
	switch {
	case service.Port < 1 || service.Port > 65535:
		return fmt.Sprintf("spec.serviceInfo.port: %d is not between 1 and 65535", service.Port)
	case len(validation.IsDNS1035Label(service.Name)) > 0:
		return fmt.Sprintf("spec.serviceInfo.name: %q is not a valid Service name", service.Name)
	case len(validation.IsDNS1123Label(service.Namespace)) > 0:
		return fmt.Sprintf("spec.serviceInfo.namespace: %q is not a valid namespace name", service.Namespace)
	case len(validation.IsDNS1123Label(manager)) > 0:
		return fmt.Sprintf("spec.manager: %q cannot be part of a path", manager)
	}
	return ""
}

// destination returns the Service that events of a Watcher go to.
func destination(w *v1beta2.Watcher) string {
	return fmt.Sprintf("%s:%d", serviceHost(w), w.Spec.ServiceInfo.Port)
}

// holder returns the oldest older Watcher that routes events of the same manager to another Service, or nil if there is
// none. A Watcher under deletion holds the path until it is gone.
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

// taken reports whether the VirtualService with the Watcher's name belongs to somebody else, and returns the plan for
// this case, which leaves it untouched.
func taken(s Situation) (Plan, bool) {
	if s.Present == nil || isOurs(s.Present, s.Watcher) {
		return Plan{}, false
	}
	name := s.Present.Namespace + "/" + s.Present.Name
	former := slices.ContainsFunc(s.Present.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == shared.KindWatcher && o.Name == s.Watcher.Name
	})
	if !former {
		return failed(EventNameTaken, "VirtualService %s already exists and does not belong to this Watcher", name), true
	}
	p := failed("", "VirtualService %s belongs to an earlier Watcher with this name and will be removed with it", name)
	p.State = shared.StateProcessing
	return p, true
}

// isOurs reports whether a VirtualService belongs to a Watcher, which must be one of its owners. A VirtualService with
// our label but without any owner counts too: somebody removed its owner reference.
func isOurs(object metav1.Object, w *v1beta2.Watcher) bool {
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID == w.UID {
			return true
		}
	}
	return len(object.GetOwnerReferences()) == 0 && object.GetLabels()[shared.LabelPurpose] == purpose
}
