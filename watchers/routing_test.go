package watchers

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/time/rate"
	networkingapi "istio.io/api/networking/v1alpha3"
	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

func istioSettings() desired.Settings {
	return desired.Settings{Watching: desired.Watching{Routing: desired.RoutingIstio}}.WithDefaults()
}

func routedWatcher(name string) *v1beta2.Watcher {
	return &v1beta2.Watcher{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kcp-system", Name: name, Generation: 1, Finalizers: []string{shared.FinalizerWatcher},
			Labels: map[string]string{shared.LabelManagedBy: "lifecycle-manager"},
		},
		Spec: v1beta2.WatcherSpec{
			ServiceInfo:     v1beta2.ServiceInfo{Name: "events", Namespace: "kcp-system", Port: 8082},
			ResourceToWatch: v1beta2.WatchableGVR{Group: shared.OperatorGroup, Version: "*", Resource: "kymas"},
			Field:           v1beta2.WatchedFieldSpec,
			Gateway:         v1beta2.GatewayConfig{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"for": name}}},
		},
	}
}

func gatewayFor(watcher string) *networkingv1.Gateway {
	return &networkingv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "gateway-" + watcher, Labels: map[string]string{"for": watcher}},
		Spec: networkingapi.Gateway{
			Selector: map[string]string{"istio": "ingressgateway"},
			Servers: []*networkingapi.Server{{
				Hosts: []string{watcher + ".example.com"}, Port: &networkingapi.Port{Number: 443, Name: "https", Protocol: "HTTPS"},
				Tls: &networkingapi.ServerTLSSettings{Mode: networkingapi.ServerTLSSettings_MUTUAL, CredentialName: "klm-istio-gateway"},
			}},
		},
	}
}

// settled gives a Watcher the status of its plan, and returns its VirtualService.
func settled(w *v1beta2.Watcher, gateways ...*networkingv1.Gateway) *networkingv1.VirtualService {
	p := routing.Decide(istioSettings(), routing.Situation{Watcher: w, Gateways: gateways})
	w.Status = v1beta2.WatcherStatus{State: p.State, ObservedGeneration: w.Generation, Conditions: []metav1.Condition{{
		Type: string(shared.ConditionVirtualService), Status: metav1.ConditionTrue, Reason: shared.ReasonReady, Message: p.Message,
		ObservedGeneration: w.Generation, LastTransitionTime: metav1.NewTime(now),
	}}}
	return p.Want
}

func routingWatcher(t *testing.T, objects ...client.Object) (*watcher, *recorder) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	require.NoError(t, networkingv1.AddToScheme(scheme))
	kicks := &recorder{}
	return &watcher{
		Options: Options{Settings: istioSettings(), Kicks: kicks, KickLimit: rate.NewLimiter(rate.Inf, 1), Tracer: noop.NewTracerProvider().Tracer("")},
		reader:  fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
	}, kicks
}

func TestOnlyOutdatedWatchersAreKicked(t *testing.T) {
	settledOne, drifted, others := routedWatcher("settled"), routedWatcher("drifted"), routedWatcher("others")
	others.Labels[shared.LabelManagedBy] = "another"
	settledOne.UID, drifted.UID, others.UID = "1", "2", "3"
	first, second := gatewayFor("settled"), gatewayFor("drifted")
	right, wrong := settled(settledOne, first), settled(drifted, second)
	wrong.Spec.Hosts = []string{"evil.example.com"}
	w, kicks := routingWatcher(t, settledOne, drifted, others, first, second, right, wrong)

	_, err := w.kickWatcher(t.Context(), watcherRequest{All: true, Cause: cause{Kind: routing.KindGateway, Namespace: "kcp-system", Name: "g", ResourceVersion: "7"}})
	require.NoError(t, err)
	require.Equal(t, []sent{{kick.WatcherWorkflowID(kick.RefOf(drifted)), kick.Kick{
		Reason: "VirtualService differs", Kind: routing.KindGateway, Namespace: "kcp-system", Name: "g", ResourceVersion: "7", Urgent: true,
	}}}, kicks.sent)

	kicks.sent = nil
	for _, ref := range []kick.Ref{kick.RefOf(settledOne), kick.RefOf(others), {Namespace: "kcp-system", Name: "drifted", UID: "earlier"}, {Namespace: "kcp-system", Name: "none"}} {
		_, err := w.kickWatcher(t.Context(), watcherRequest{Ref: ref})
		require.NoError(t, err)
	}
	require.Empty(t, kicks.sent)

	_, err = w.kickWatcher(t.Context(), watcherRequest{Ref: kick.RefOf(settledOne), Gone: true, Version: "9"})
	require.NoError(t, err)
	require.Len(t, kicks.sent, 1)
	require.Equal(t, "open "+kick.WatcherWorkflowID(kick.RefOf(settledOne)), kicks.sent[0].to)
}

func TestOurOwnWritesToWatchersCauseNoRequest(t *testing.T) {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[watcherRequest]())
	t.Cleanup(q.ShutDown)
	before := routedWatcher("kyma")
	before.UID = "1"
	after := before.DeepCopy()
	after.Status.State, after.ResourceVersion = shared.StateReady, "8"
	events := watcherEvents()
	events.Update(context.Background(), event.TypedUpdateEvent[*v1beta2.Watcher]{ObjectOld: before, ObjectNew: after}, q)
	require.Zero(t, q.Len())
	after.Generation = 2
	events.Update(context.Background(), event.TypedUpdateEvent[*v1beta2.Watcher]{ObjectOld: before, ObjectNew: after}, q)
	require.Equal(t, 2, q.Len(), "the Watcher itself, and those that may get or lose its path")
}
