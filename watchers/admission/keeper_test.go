package admission

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

func TestBothConfigurationsAreKept(t *testing.T) {
	ctx, written := context.Background(), 0
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	k := &keeper{
		options: Options{Service: types.NamespacedName{Namespace: "kcp-system", Name: "webhook"}, Secret: "certificate"},
		client: fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
			Update: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.UpdateOption) error {
				written++
				return to.Update(ctx, object, options...)
			},
		}).Build(),
	}
	read := func() (*admissionv1.ValidatingWebhookConfiguration, *admissionv1.MutatingWebhookConfiguration) {
		validating, mutating, name := &admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}, types.NamespacedName{Name: "webhook"}
		require.NoError(t, k.client.Get(ctx, name, validating))
		require.NoError(t, k.client.Get(ctx, name, mutating))
		return validating, mutating
	}
	require.NoError(t, k.ensure(ctx))
	validating, mutating := read()
	require.Len(t, validating.Webhooks, 5)
	require.Len(t, mutating.Webhooks, 2)
	require.Equal(t, shared.ManagedByLifecycleManager, mutating.Labels[shared.LabelManagedBy])
	require.NoError(t, k.client.Get(ctx, types.NamespacedName{Namespace: "kcp-system", Name: "certificate"}, &corev1.Secret{}))

	validating.Webhooks[3].ClientConfig.CABundle, mutating.Webhooks[0].ClientConfig.CABundle = []byte("ca"), []byte("ca")
	require.NoError(t, k.client.Update(ctx, validating))
	require.NoError(t, k.client.Update(ctx, mutating))
	written = 0
	require.NoError(t, k.ensure(ctx))
	require.Zero(t, written, "an unchanged configuration is not written")

	ignore := admissionv1.Ignore
	mutating.Webhooks[0].FailurePolicy = &ignore
	require.NoError(t, k.client.Update(ctx, mutating))
	require.NoError(t, k.ensure(ctx))
	validating, mutating = read()
	require.Equal(t, "Fail", string(*mutating.Webhooks[0].FailurePolicy))
	require.Equal(t, "ca", string(mutating.Webhooks[0].ClientConfig.CABundle))
	require.Equal(t, "ca", string(validating.Webhooks[3].ClientConfig.CABundle))

	require.NoError(t, k.client.Delete(ctx, mutating))
	require.NoError(t, k.ensure(ctx))
	read()
}

type recording []string

func (r *recording) RoundTrip(request *http.Request) (*http.Response, error) {
	*r = append(*r, request.URL.String())
	return &http.Response{}, nil
}

// The certificate rotation lists all configurations, but may read and needs only ours.
func TestTheRotationReadsOurConfigurationsOnly(t *testing.T) {
	var asked recording
	through := narrow(&rest.Config{}, types.NamespacedName{Namespace: "kcp-system", Name: "certificate"}, "webhook").WrapTransport(&asked)
	for _, kind := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://host/apis/admissionregistration.k8s.io/v1/"+kind, http.NoBody)
		require.NoError(t, err)
		_, err = through.RoundTrip(request)
		require.NoError(t, err)
	}
	require.Equal(t, recording{
		"https://host/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?fieldSelector=metadata.name%3Dwebhook",
		"https://host/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?fieldSelector=metadata.name%3Dwebhook",
	}, asked)
}
