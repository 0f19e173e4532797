package routing

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingapi "istio.io/api/networking/v1alpha3"
	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

func directSettings() desired.Settings {
	return desired.Settings{Watching: desired.Watching{Routing: desired.RoutingDirect, Address: "events.example.com:443"}}.WithDefaults()
}

func newActivities(t *testing.T, settings desired.Settings, calls interceptor.Funcs, objects ...client.Object) (*Activities, client.Client, *record.FakeRecorder) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	require.NoError(t, networkingv1.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1beta2.Watcher{}).WithInterceptorFuncs(calls).Build()
	events := record.NewFakeRecorder(10)
	a, err := New(Options{Settings: settings, ControlPlane: c, Informers: c, Events: events, Clock: func() time.Time { return start }})
	require.NoError(t, err)
	return a, c, events
}

func owned(w *v1beta2.Watcher) *networkingv1.VirtualService {
	return &networkingv1.VirtualService{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.Namespace, Name: w.Name,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w, v1beta2.GroupVersion.WithKind(shared.KindWatcher))},
	}}
}

func TestAWatcherUnderDeletionIsReleasedOnceItsVirtualServiceIsGone(t *testing.T) {
	w := newWatcher("kyma", 0)
	w.Finalizers, w.DeletionTimestamp = []string{shared.FinalizerWatcher, "theirs/stays"}, &metav1.Time{Time: start}
	vs := owned(w)
	vs.Finalizers = []string{"theirs/blocks"}
	a, c, _ := newActivities(t, istioSettings(), interceptor.Funcs{}, w, vs)
	_, err := a.ReconcileWatcher(t.Context(), In{Ref: kick.RefOf(w)})
	require.Equal(t, fault.Pending, fault.Of(err).Kind)
	require.ErrorContains(t, err, "theirs/blocks")
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(w), w))
	require.Contains(t, w.Finalizers, shared.FinalizerWatcher)
	require.Equal(t, shared.StateDeleting, w.Status.State)

	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(vs), vs))
	vs.Finalizers = nil
	require.NoError(t, c.Update(t.Context(), vs))
	out, err := a.ReconcileWatcher(t.Context(), In{Ref: kick.RefOf(w)})
	require.NoError(t, err)
	require.Equal(t, OutcomeReleased, out.Outcome)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(w), w))
	require.Equal(t, []string{"theirs/stays"}, w.Finalizers)
}

func TestAForeignVirtualServiceOutlivesTheWatcher(t *testing.T) {
	w := newWatcher("kyma", 0)
	w.Finalizers, w.DeletionTimestamp = []string{shared.FinalizerWatcher}, &metav1.Time{Time: start}
	vs := owned(w)
	vs.OwnerReferences = nil
	a, c, _ := newActivities(t, istioSettings(), interceptor.Funcs{}, w, vs)
	_, err := a.ReconcileWatcher(t.Context(), In{Ref: kick.RefOf(w)})
	require.NoError(t, err)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(vs), vs))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(w), w)))
}

func TestAnotherWatcherOfTheSameNameOrOfAnotherInstanceIsNotTouched(t *testing.T) {
	w, others := newWatcher("kyma", 0), newWatcher("others", 0)
	others.Labels[shared.LabelManagedBy] = "another"
	a, c, _ := newActivities(t, istioSettings(), interceptor.Funcs{}, w, others)
	for _, ref := range []kick.Ref{
		{Namespace: w.Namespace, Name: w.Name, UID: "earlier"}, kick.RefOf(others), {Namespace: w.Namespace, Name: "unknown"},
	} {
		out, err := a.ReconcileWatcher(t.Context(), In{Ref: ref})
		require.NoError(t, err)
		require.Equal(t, Out{Outcome: OutcomeGone}, out)
	}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(w), w))
	require.Empty(t, w.Finalizers)
}

func TestIstioRoutingIsRemovedAfterASwitchToDirectRouting(t *testing.T) {
	w := newWatcher("kyma", 0)
	w.Finalizers = []string{shared.FinalizerWatcher}
	a, c, events := newActivities(t, directSettings(), interceptor.Funcs{}, w, owned(w))
	out, err := a.ReconcileWatcher(t.Context(), In{Ref: kick.RefOf(w)})
	require.NoError(t, err)
	require.Equal(t, shared.StateReady, out.State)
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(w), &networkingv1.VirtualService{})))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(w), w))
	require.Empty(t, w.Finalizers)
	require.Empty(t, Outdated(directSettings(), Situation{Watcher: w}))
	require.Contains(t, <-events.Events, EventReady)
}

// Without Istio, its kinds may not exist, and we may have no permission to read them.
func TestDirectRoutingNeedsNoIstioKindsOrPermissions(t *testing.T) {
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "networking.istio.io", Kind: kindVirtualService}}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "virtualservices"}, "kyma", errors.New("no right"))
	for _, answer := range []error{missing, forbidden} {
		w := newWatcher("kyma", 0)
		w.Finalizers = []string{shared.FinalizerWatcher}
		a, c, _ := newActivities(t, directSettings(), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if _, partial := obj.(*metav1.PartialObjectMetadata); partial {
					return answer
				}
				return c.Get(ctx, key, obj, opts...)
			},
		}, w)
		out, err := a.ReconcileWatcher(t.Context(), In{Ref: kick.RefOf(w)})
		require.NoError(t, err)
		require.Equal(t, shared.StateReady, out.State)
		require.Equal(t, errors.Is(answer, forbidden), len(out.Message) > len(Decide(directSettings(), Situation{Watcher: w}).Message))
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(w), w))
		require.Empty(t, w.Finalizers)
	}
}

func TestMissingIstioIsReportedAtStart(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(networkingv1.SchemeGroupVersion.WithKind(KindGateway), meta.RESTScopeNamespace)
	err := CheckIstio(istioSettings(), mapper)
	require.ErrorIs(t, err, ErrNoIstio)
	require.ErrorContains(t, err, kindVirtualService)
	require.NoError(t, CheckIstio(directSettings(), mapper))
	mapper.Add(networkingv1.SchemeGroupVersion.WithKind(kindVirtualService), meta.RESTScopeNamespace)
	require.NoError(t, CheckIstio(istioSettings(), mapper))
}

func TestTheAddressComesFromTheGatewayAndStaysWhileTheGatewayIsMissing(t *testing.T) {
	ctx, watching := t.Context(), istioSettings().Watching
	gateway := newGateway("kcp-system", "klm-watcher", "*", "kcp-system/events.example.com")
	_, c, _ := newActivities(t, istioSettings(), interceptor.Funcs{})
	addresses := NewAddresses(watching, c)
	_, err := addresses.Address(ctx)
	require.Equal(t, fault.Fault{
		Kind: fault.Pending, Reason: ReasonAddressUnknown, Message: "Gateway kcp-system/klm-watcher does not exist; agents need its address",
	}, fault.Of(err))
	require.NoError(t, c.Create(ctx, gateway))
	address, err := addresses.Address(ctx)
	require.NoError(t, err)
	require.Equal(t, "events.example.com:443", address)
	require.NoError(t, c.Delete(ctx, gateway))
	address, err = addresses.Address(ctx)
	require.NoError(t, err)
	require.Equal(t, "events.example.com:443", address)

	only := newGateway("kcp-system", "klm-watcher", "*")
	require.NoError(t, c.Create(ctx, only))
	_, err = NewAddresses(watching, c).Address(ctx)
	require.Equal(t, fault.Pending, fault.Of(err).Kind)
	only.Spec.Servers = []*networkingapi.Server{{Hosts: []string{"other.example.com"}, Port: &networkingapi.Port{Number: 8443}}}
	require.NoError(t, c.Update(ctx, only))
	watching.ListenerPort = 9443
	address, err = NewAddresses(watching, c).Address(ctx)
	require.NoError(t, err)
	require.Equal(t, "other.example.com:9443", address)

	address, err = NewAddresses(directSettings().Watching, c).Address(ctx)
	require.NoError(t, err)
	require.Equal(t, "events.example.com:443", address)
	_, err = NewAddresses(desired.Watching{}, c).Address(ctx)
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
}
