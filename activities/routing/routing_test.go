package routing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingapi "istio.io/api/networking/v1alpha3"
	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func istioSettings() desired.Settings {
	return desired.Settings{Watching: desired.Watching{
		Routing: desired.RoutingIstio, GatewayNamespace: "kcp-system", GatewayName: "klm-watcher",
	}}.WithDefaults()
}

// newWatcher returns a Watcher like the seeds, created the given number of seconds after the start.
func newWatcher(name string, second int) *v1beta2.Watcher {
	return &v1beta2.Watcher{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kcp-system", Name: name, UID: types.UID("uid-" + name), Generation: 1,
			CreationTimestamp: metav1.NewTime(start.Add(time.Duration(second) * time.Second)),
			Labels:            map[string]string{shared.LabelManagedBy: "lifecycle-manager"},
		},
		Spec: v1beta2.WatcherSpec{
			ServiceInfo:     v1beta2.ServiceInfo{Name: "events", Namespace: "kcp-system", Port: 8082},
			ResourceToWatch: v1beta2.WatchableGVR{Group: shared.OperatorGroup, Version: "*", Resource: "kymas"},
			Field:           v1beta2.WatchedFieldSpec,
			Gateway:         v1beta2.GatewayConfig{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"watcher-gateway": "default"}}},
		},
	}
}

func newGateway(namespace, name string, hosts ...string) *networkingv1.Gateway {
	return &networkingv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"watcher-gateway": "default"}},
		Spec:       networkingapi.Gateway{Servers: []*networkingapi.Server{{Hosts: hosts, Port: &networkingapi.Port{Number: 443}}}},
	}
}

func TestAWatcherGetsOneVirtualServiceForAllItsGateways(t *testing.T) {
	w := newWatcher("kyma", 0)
	other := newGateway("istio-system", "other", "c.example.com")
	other.Labels = nil
	p := Decide(istioSettings(), Situation{Watcher: w, Gateways: []*networkingv1.Gateway{
		newGateway("kcp-system", "z", "b.example.com", "a.example.com"), other, newGateway("istio-system", "a", "b.example.com", "*/d.example.com"),
	}})
	require.Equal(t, shared.StateReady, p.State)
	require.Empty(t, p.Problem)
	require.Equal(t, "kcp-system", p.Want.Namespace)
	require.Equal(t, "kyma", p.Want.Name)
	require.Equal(t, "lifecycle-manager", p.Want.Labels[shared.LabelManagedBy])
	require.Equal(t, w.UID, metav1.GetControllerOf(p.Want).UID)
	require.Equal(t, []string{"istio-system/a", "kcp-system/z"}, p.Want.Spec.GetGateways())
	require.Equal(t, []string{"a.example.com", "b.example.com", "d.example.com"}, p.Want.Spec.GetHosts())

	content, err := encode(p.Want)
	require.NoError(t, err)
	require.NotContains(t, content.Object, "status")
	require.Equal(t, "networking.istio.io/v1", content.GetAPIVersion())
	destination := []any{map[string]any{"destination": map[string]any{
		"host": "events.kcp-system.svc.cluster.local", "port": map[string]any{"number": float64(8082)},
	}}}
	routes, _, err := unstructured.NestedSlice(content.Object, "spec", "http")
	require.NoError(t, err)
	require.Equal(t, []any{
		map[string]any{"match": []any{map[string]any{"uri": map[string]any{"prefix": "/v2/lifecycle-manager/event"}}}, "route": destination},
		map[string]any{"match": []any{map[string]any{"uri": map[string]any{"prefix": "/v1/lifecycle-manager/event"}}}, "route": destination},
	}, routes)
}

func TestTheManagerComesFromTheSpecThenTheLabelThenTheInstance(t *testing.T) {
	w := newWatcher("kyma", 0)
	w.Spec.Manager, w.Labels[shared.LabelManagedBy] = "one", "two"
	require.Equal(t, "one", Manager(istioSettings(), w))
	w.Spec.Manager = ""
	require.Equal(t, "two", Manager(istioSettings(), w))
	w.Labels = nil
	require.Equal(t, "lifecycle-manager", Manager(istioSettings(), w))
}

func TestAHostIsUsedOnlyIfItsGatewayAllowsTheNamespace(t *testing.T) {
	for host, want := range map[string]string{
		"a.example.com": "a.example.com", "*/a.example.com": "a.example.com", "kcp-system/a.example.com": "a.example.com",
		"./a.example.com": "", "other/a.example.com": "", "*": "*", "": "", "*/": "",
	} {
		name, usable := hostFor(host, "istio-system", "kcp-system")
		require.Equal(t, want != "", usable, host)
		if usable {
			require.Equal(t, want, name, host)
		}
	}
	_, usable := hostFor("./a.example.com", "kcp-system", "kcp-system")
	require.True(t, usable)
}

// If something is not found, nothing is removed.
func TestWithoutAGatewayTheVirtualServiceStaysAsItIs(t *testing.T) {
	w := newWatcher("kyma", 0)
	p := Decide(istioSettings(), Situation{Watcher: w})
	require.Equal(t, EventGatewayNotFound, p.Problem)
	require.Equal(t, shared.StateError, p.State)
	require.Contains(t, p.Message, "watcher-gateway=default")
	require.Nil(t, p.Want)
	require.False(t, p.Remove)

	p = Decide(istioSettings(), Situation{Watcher: w, Gateways: []*networkingv1.Gateway{newGateway("istio-system", "g", "./a.example.com")}})
	require.Equal(t, EventGatewayNotFound, p.Problem)
	require.Contains(t, p.Message, "istio-system/g has no host")

	w.Spec.Gateway.LabelSelector = nil
	p = Decide(istioSettings(), Situation{Watcher: w, Gateways: []*networkingv1.Gateway{newGateway("istio-system", "g", "a.example.com")}})
	require.Equal(t, EventGatewayNotFound, p.Problem, "an empty selector selects nothing")
}

func TestTheOlderOfTwoWatchersForOneManagerKeepsThePath(t *testing.T) {
	gateways := []*networkingv1.Gateway{newGateway("kcp-system", "g", "a.example.com")}
	older, newer := newWatcher("older", 0), newWatcher("newer", 5)
	newer.Spec.ServiceInfo.Name = "elsewhere"
	all := []v1beta2.Watcher{*newer, *older}
	require.Equal(t, shared.StateReady, Decide(istioSettings(), Situation{Watcher: older, Watchers: all, Gateways: gateways}).State)
	p := Decide(istioSettings(), Situation{Watcher: newer, Watchers: all, Gateways: gateways})
	require.Equal(t, EventPathTaken, p.Problem)
	require.True(t, p.Remove, "an existing VirtualService would conflict with the older Watcher's")
	require.Contains(t, p.Message, "kcp-system/older")

	newer.Spec.ServiceInfo.Name = "events"
	require.Equal(t, shared.StateReady, Decide(istioSettings(), Situation{Watcher: newer, Watchers: all, Gateways: gateways}).State, "both route to one Service")
	newer.Spec.ServiceInfo.Name, newer.Spec.Manager = "elsewhere", "another"
	require.Equal(t, shared.StateReady, Decide(istioSettings(), Situation{Watcher: newer, Watchers: all, Gateways: gateways}).State, "another path")

	same := newWatcher("same", 0)
	same.Spec.ServiceInfo.Port = 1
	all = []v1beta2.Watcher{*same, *older}
	require.NotEqual(t, Decide(istioSettings(), Situation{Watcher: same, Watchers: all, Gateways: gateways}).State,
		Decide(istioSettings(), Situation{Watcher: older, Watchers: all, Gateways: gateways}).State, "one of two of the same age")
}

func TestAForeignVirtualServiceIsNotTouched(t *testing.T) {
	w := newWatcher("kyma", 0)
	gateways := []*networkingv1.Gateway{newGateway("kcp-system", "g", "a.example.com")}
	present := &networkingv1.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "kyma"}}
	s := Situation{Watcher: w, Gateways: gateways, Present: present}
	p := Decide(istioSettings(), s)
	require.Equal(t, EventNameTaken, p.Problem)
	require.Nil(t, p.Want)
	require.False(t, p.Remove)

	present.OwnerReferences = []metav1.OwnerReference{{Kind: shared.KindWatcher, Name: "kyma", UID: "earlier"}}
	p = Decide(istioSettings(), s)
	require.Equal(t, shared.StateProcessing, p.State, "it will be removed with its owner")
	require.Nil(t, p.Want)

	present.OwnerReferences = []metav1.OwnerReference{{Kind: shared.KindWatcher, Name: "kyma", UID: w.UID}}
	require.NotNil(t, Decide(istioSettings(), s).Want, "VirtualServices of earlier generations had no label")
	present.OwnerReferences, present.Labels = nil, map[string]string{shared.LabelPurpose: purpose}
	require.NotNil(t, Decide(istioSettings(), s).Want, "somebody removed its owner reference")
}

func TestAnInvalidFieldOfTheSpecIsNamed(t *testing.T) {
	for field, change := range map[string]func(*v1beta2.Watcher){
		"spec.serviceInfo.port":      func(w *v1beta2.Watcher) { w.Spec.ServiceInfo.Port = 70000 },
		"spec.serviceInfo.name":      func(w *v1beta2.Watcher) { w.Spec.ServiceInfo.Name = "a/b" },
		"spec.serviceInfo.namespace": func(w *v1beta2.Watcher) { w.Spec.ServiceInfo.Namespace = "" },
		"spec.manager":               func(w *v1beta2.Watcher) { w.Spec.Manager = "../x" },
		"spec.gateway.selector": func(w *v1beta2.Watcher) {
			w.Spec.Gateway.LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
		},
	} {
		w := newWatcher("kyma", 0)
		change(w)
		p := Decide(istioSettings(), Situation{Watcher: w})
		require.Equal(t, EventInvalid, p.Problem, field)
		require.Contains(t, p.Message, field)
	}
}

func TestWithoutIstioTheStatusNamesTheAddressForAgents(t *testing.T) {
	settings := desired.Settings{Watching: desired.Watching{Routing: desired.RoutingDirect, Address: "events.example.com:443"}}
	w := newWatcher("kyma", 0)
	p := Decide(settings, Situation{Watcher: w})
	require.Equal(t, shared.StateReady, p.State)
	require.Contains(t, p.Message, "events.example.com:443")
	require.Nil(t, p.Want)
	condition := p.status(w, metav1.NewTime(start)).Conditions[0]
	require.Equal(t, "VirtualService", condition.Type)
	require.Equal(t, metav1.ConditionTrue, condition.Status)
	require.Equal(t, "Ready", condition.Reason)
	require.EqualValues(t, 1, condition.ObservedGeneration)

	w.Spec.Manager = "another"
	p = Decide(settings, Situation{Watcher: w})
	require.Equal(t, EventNotRouted, p.Problem)
	require.Equal(t, metav1.ConditionFalse, p.status(w, metav1.NewTime(start)).Conditions[0].Status)
}

func TestAWatcherIsOutdatedUntilItMatchesItsPlan(t *testing.T) {
	w := newWatcher("kyma", 0)
	s := Situation{Watcher: w, Gateways: []*networkingv1.Gateway{newGateway("kcp-system", "g", "a.example.com")}}
	p := Decide(istioSettings(), s)
	require.Equal(t, "Watcher changed", Outdated(istioSettings(), s))
	w.Status = p.status(w, metav1.NewTime(start))
	require.Equal(t, "the routing of events changed", Outdated(istioSettings(), s), "the Watcher has no finalizer yet")
	w.Finalizers = []string{shared.FinalizerWatcher}
	require.Equal(t, "VirtualService differs", Outdated(istioSettings(), s))
	s.Present = p.Want.DeepCopy()
	require.Empty(t, Outdated(istioSettings(), s))

	s.Present.Spec.Hosts = []string{"evil.example.com"}
	require.Equal(t, "VirtualService differs", Outdated(istioSettings(), s))
	s.Present = p.Want.DeepCopy()
	s.Present.Spec.ExportTo = []string{"."}
	require.Equal(t, "VirtualService differs", Outdated(istioSettings(), s), "fields that others added also decide where events go")
	s.Present = p.Want.DeepCopy()
	delete(s.Present.Labels, shared.LabelManagedBy)
	require.Equal(t, "VirtualService differs", Outdated(istioSettings(), s))
	s.Present = p.Want.DeepCopy()
	s.Present.Labels["theirs"] = "stays"
	require.Empty(t, Outdated(istioSettings(), s))

	s.Gateways = nil
	require.Equal(t, "Watcher is not settled", Outdated(istioSettings(), s))
	require.Equal(t, "the routing of events changed", Outdated(desired.Settings{Watching: desired.Watching{Routing: desired.RoutingDirect}}, s))
	w.DeletionTimestamp = &metav1.Time{Time: start}
	require.Equal(t, "Watcher is being deleted", Outdated(istioSettings(), s))
}
