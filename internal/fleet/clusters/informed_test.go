package clusters

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimescheme "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// informed returns a registry with an informer that knows the metadata of these Secrets, up to a resource version.
func informed(t *testing.T, version *string, known ...corev1.Secret) (*Registry, *controlPlane) {
	t.Helper()
	cp := &controlPlane{}
	server := httptest.NewServer(cp)
	t.Cleanup(server.Close)
	scheme := runtimescheme.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	require.NoError(t, v1beta2.AddToScheme(scheme))
	builder := fleettest.Indexed(fake.NewClientBuilder().WithScheme(scheme))
	for i := range known {
		builder.WithObjects(&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: known[i].ObjectMeta})
	}
	cached := builder.Build()
	registry, err := New(Options{
		ControlPlane: &rest.Config{Host: server.URL}, Scheme: scheme,
		Fleet: fleet.Over(cached, cached, func(context.Context, client.Object, string) string { return *version }),
	})
	require.NoError(t, err)
	return registry, cp
}

func TestAccessIsReadByTheNameFromTheInformer(t *testing.T) {
	t.Parallel()
	version := "5"
	secret := accessSecret("kcp-system", "access-of-a", "a", "5", newRemote(t).kubeconfig(t))
	registry, cp := informed(t, &version, secret)
	cp.set(secret)
	first, err := registry.ForKyma(t.Context(), "kcp-system", "a")
	require.NoError(t, err)
	require.Equal(t, 1, cp.gets)
	again, err := registry.Reach(t.Context(), "kcp-system", "a")
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Equal(t, 1, cp.gets, "a read sends no request if the informer knows the same version")
	_, err = registry.ForKyma(t.Context(), "kcp-system", "a")
	require.NoError(t, err)
	require.Equal(t, 2, cp.gets, "a write reads the Secret live")
}

func TestTheInformersAccessSecretIsVerifiedLive(t *testing.T) {
	t.Parallel()
	kubeconfig := newRemote(t).kubeconfig(t)
	known := accessSecret("kcp-system", "access", "a", "5", kubeconfig)
	for name, now := range map[string][]corev1.Secret{
		"a deleted Secret":             nil,
		"a Secret of another Kyma now": {accessSecret("kcp-system", "access", "b", "6", kubeconfig)},
	} {
		version := "5"
		registry, cp := informed(t, &version, known)
		cp.set(now...)
		_, err := registry.ForKyma(t.Context(), "kcp-system", "a")
		require.Equal(t, ReasonAccessSecretNotFound, fault.Of(err).Reason, name)
	}
}

func TestAccessReadAfterAKnownChangeIsNotStale(t *testing.T) {
	t.Parallel()
	version := "5"
	secret := accessSecret("kcp-system", "access", "a", "5", newRemote(t).kubeconfig(t))
	registry, cp := informed(t, &version, secret)
	cp.set(secret)
	// Another Secret of the Kyma was deleted at version 20. This one did not change.
	registry.Evict("kcp-system", "a", "20")
	_, err := registry.ForKyma(t.Context(), "kcp-system", "a")
	require.Equal(t, ReasonAccessChanged, fault.Of(err).Reason, "the informer does not know the change yet, so this Secret may be stale")
	version = "20"
	_, err = registry.ForKyma(t.Context(), "kcp-system", "a")
	require.NoError(t, err)
}
