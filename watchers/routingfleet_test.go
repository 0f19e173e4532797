package watchers

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/time/rate"
	networkingapi "istio.io/api/networking/v1alpha3"
	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/istio"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// direct immediately does what the workflow of a kicked Watcher does.
type direct struct {
	recorder
	routing *routing.Activities
}

func (d *direct) Watcher(ctx context.Context, ref kick.Ref, k kick.Kick) error {
	in := routing.In{Ref: ref}
	if k.Kind == routing.KindGateway {
		in.Gateways = append(in.Gateways, client.ObjectKey{Namespace: k.Namespace, Name: k.Name})
	}
	_, err := d.routing.ReconcileWatcher(ctx, in)
	return err
}

// routed is an instance with Istio routing on a real API server with Istio's real CRDs.
type routed struct {
	*testing.T
	client.Client
	namespace string
}

func newRouted(t *testing.T) *routed {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testfleet.Require(t, "LM_TEST_CONTROL_PLANE"))
	require.NoError(t, err)
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, apiextensionsv1.AddToScheme, v1beta2.AddToScheme, networkingv1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	r := &routed{T: t, namespace: fmt.Sprintf("routing-%x", time.Now().UnixNano())}
	r.Client, err = client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	istio.Install(t, r.Client)
	definitions, err := crds.Get(crds.Watchers)
	require.NoError(t, err)
	for _, definition := range definitions {
		if err := r.Create(t.Context(), definition); !apierrors.IsAlreadyExists(err) {
			require.NoError(t, err)
		}
	}
	r.eventually("Watchers are served", func() bool { return r.List(context.Background(), &v1beta2.WatcherList{}) == nil })
	require.NoError(t, r.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}))
	t.Cleanup(func() {
		_ = r.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}})
	})

	// An instance of its own, because other tests have Watchers too.
	settings := istioSettings()
	settings.ManagedBy = r.namespace
	ours := labels.SelectorFromSet(labels.Set{shared.LabelManagedBy: settings.ManagedBy})
	options := cache.Options{ByObject: map[client.Object]cache.ByObject{}}
	routing.AddToCache(settings, ours, &options)
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Cache: options, Metrics: server.Options{BindAddress: "0"}})
	require.NoError(t, err)
	activities, err := routing.New(routing.Options{
		Settings: settings, ControlPlane: r.Client, Informers: mgr.GetCache(),
		Events: mgr.GetEventRecorderFor("lifecycle-manager"), //nolint:staticcheck // as in the product
	})
	require.NoError(t, err)
	w := &watcher{
		Options: Options{
			Settings: settings, Kicks: &direct{routing: activities}, KickLimit: rate.NewLimiter(rate.Inf, 1), ResyncInterval: time.Hour,
			Tracer: noop.NewTracerProvider().Tracer(""),
		},
		reader: mgr.GetCache(),
	}
	require.NoError(t, w.addRouting(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return r
}

func (r *routed) eventually(what string, condition func() bool) {
	r.Helper()
	require.Eventually(r, condition, time.Minute, 50*time.Millisecond, what)
}

func (r *routed) read(name string) *v1beta2.Watcher {
	r.Helper()
	w := &v1beta2.Watcher{}
	require.NoError(r, r.Get(context.Background(), client.ObjectKey{Namespace: r.namespace, Name: name}, w))
	return w
}

// virtualService returns the VirtualService of a Watcher; nil if there is none.
func (r *routed) virtualService(name string) *networkingv1.VirtualService {
	r.Helper()
	vs := &networkingv1.VirtualService{}
	err := r.Get(context.Background(), client.ObjectKey{Namespace: r.namespace, Name: name}, vs)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(r, err)
	return vs
}

func (r *routed) hosts(name string) string {
	r.Helper()
	if vs := r.virtualService(name); vs != nil {
		return fmt.Sprint(vs.Spec.GetHosts())
	}
	return ""
}

func TestAWatcherIsRoutedOnARealAPIServer(t *testing.T) {
	r := newRouted(t)
	w := routedWatcher("kyma")
	w.Namespace, w.Labels[shared.LabelManagedBy], w.Finalizers = r.namespace, r.namespace, nil
	require.NoError(t, r.Create(t.Context(), w))

	// No Gateway.
	r.eventually("the Watcher reports that it has no Gateway", func() bool { return r.read("kyma").Status.State == shared.StateError })
	condition := meta.FindStatusCondition(r.read("kyma").Status.Conditions, "VirtualService")
	require.NotNil(t, condition)
	require.Equal(t, metav1.ConditionFalse, condition.Status)
	require.Contains(t, condition.Message, "no Gateway matches the selector for=kyma")
	require.Nil(t, r.virtualService("kyma"))
	r.eventually("an Event reports it", func() bool {
		var events corev1.EventList
		require.NoError(t, r.List(context.Background(), &events, client.InNamespace(r.namespace)))
		for _, e := range events.Items {
			if e.Reason == routing.EventGatewayNotFound && e.InvolvedObject.UID == w.UID {
				return true
			}
		}
		return false
	})

	// A Gateway is created, then changed.
	gateway := gatewayFor("kyma")
	gateway.Namespace = r.namespace
	require.NoError(t, r.Create(t.Context(), gateway))
	r.eventually("the Watcher is ready", func() bool { return r.read("kyma").Status.State == shared.StateReady })
	require.Equal(t, "[kyma.example.com]", r.hosts("kyma"))
	vs := r.virtualService("kyma")
	require.Equal(t, []string{r.namespace + "/gateway-kyma"}, vs.Spec.GetGateways())
	require.Len(t, vs.Spec.GetHttp(), 2)
	require.Equal(t, "/v2/"+r.namespace+"/event", vs.Spec.GetHttp()[0].GetMatch()[0].GetUri().GetPrefix())
	require.Equal(t, w.UID, metav1.GetControllerOf(vs).UID)
	require.Equal(t, []string{shared.FinalizerWatcher}, r.read("kyma").Finalizers)
	gateway.Spec.Servers[0].Hosts = []string{"moved.example.com"}
	require.NoError(t, r.Update(t.Context(), gateway))
	r.eventually("the VirtualService has the new host", func() bool { return r.hosts("kyma") == "[moved.example.com]" })

	// The VirtualService is edited, then deleted.
	r.edit(func(vs *networkingv1.VirtualService) {
		vs.Spec.Hosts, vs.Spec.ExportTo = []string{"evil.example.com"}, []string{"."}
	})
	r.eventually("the edit is undone", func() bool {
		vs := r.virtualService("kyma")
		return vs != nil && fmt.Sprint(vs.Spec.GetHosts(), vs.Spec.GetExportTo()) == "[moved.example.com] []"
	})
	r.edit(func(vs *networkingv1.VirtualService) { delete(vs.Labels, shared.LabelManagedBy) })
	r.eventually("the label is restored", func() bool {
		return r.virtualService("kyma").Labels[shared.LabelManagedBy] == r.namespace
	})
	require.NoError(t, r.Delete(t.Context(), r.virtualService("kyma")))
	r.eventually("the VirtualService is restored", func() bool { return r.hosts("kyma") == "[moved.example.com]" })

	// The Gateway is deleted. Nothing is removed because something was not found.
	require.NoError(t, r.Delete(t.Context(), gateway))
	r.eventually("the Watcher reports that it has no Gateway", func() bool { return r.read("kyma").Status.State == shared.StateError })
	require.Equal(t, "[moved.example.com]", r.hosts("kyma"))
	again := gatewayFor("kyma")
	again.Namespace = r.namespace
	again.Spec.Servers = append(again.Spec.Servers, &networkingapi.Server{
		Hosts: []string{"*/second.example.com"}, Port: &networkingapi.Port{Number: 8443, Name: "https-2", Protocol: "HTTPS"},
		Tls: &networkingapi.ServerTLSSettings{Mode: networkingapi.ServerTLSSettings_MUTUAL, CredentialName: "klm-istio-gateway"},
	})
	require.NoError(t, r.Create(t.Context(), again))
	r.eventually("both hosts are routed", func() bool { return r.hosts("kyma") == "[kyma.example.com second.example.com]" })

	// A second Watcher wants the path for another Service, and gets it once the first one is gone.
	second := routedWatcher("second")
	second.Namespace, second.Labels[shared.LabelManagedBy], second.Finalizers = r.namespace, r.namespace, nil
	second.Spec.Gateway, second.Spec.ServiceInfo.Name = w.Spec.Gateway, "elsewhere"
	time.Sleep(time.Until(r.read("kyma").CreationTimestamp.Add(1100 * time.Millisecond))) // creation times have second precision
	require.NoError(t, r.Create(t.Context(), second))
	r.eventually("the path is taken", func() bool { return r.read("second").Status.State == shared.StateError })
	require.Contains(t, r.read("second").Status.Conditions[0].Message, r.namespace+"/kyma")
	require.NoError(t, r.Delete(t.Context(), r.read("kyma")))
	r.eventually("the Watcher is gone", func() bool {
		return apierrors.IsNotFound(r.Get(context.Background(), client.ObjectKeyFromObject(w), &v1beta2.Watcher{}))
	})
	require.Nil(t, r.virtualService("kyma"))
	r.eventually("the second is routed", func() bool { return r.read("second").Status.State == shared.StateReady })
	require.Contains(t, r.virtualService("second").Spec.GetHttp()[0].GetRoute()[0].GetDestination().GetHost(), "elsewhere.")

	// The schema refuses a port that is out of range.
	wrong := r.read("second")
	wrong.Spec.ServiceInfo.Port = 70000
	require.True(t, apierrors.IsInvalid(r.Update(t.Context(), wrong)))
	require.NoError(t, r.Delete(t.Context(), r.read("second")))
	r.eventually("the second is gone", func() bool { return r.virtualService("second") == nil })
}

func (r *routed) edit(change func(*networkingv1.VirtualService)) {
	r.Helper()
	vs := r.virtualService("kyma")
	change(vs)
	require.NoError(r, r.Update(context.Background(), vs))
}
