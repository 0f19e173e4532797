package clusters

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func listOnce(ctx context.Context, c *Cluster) error {
	return c.Client.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("x"))
}

func TestNoRequestUsesTheOldAccessAfterItsSecretChanged(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, nil)
	server := newRemote(t)
	server.body = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[]}`
	cp.set(accessSecret("ns", "a", "a", "1", server.kubeconfig(t)))
	cp.version = 1
	old, err := registry.ForKyma(t.Context(), "ns", "a")
	require.NoError(t, err)
	require.NoError(t, listOnce(t.Context(), old))
	before := server.requests.Load()

	registry.Evict("ns", "a", "2")
	err = listOnce(t.Context(), old)
	require.ErrorIs(t, err, ErrAccessChanged)
	require.Equal(t, before, server.requests.Load())
	f := fault.Of(Classify(err))
	require.Equal(t, fault.Transient, f.Kind, "work in progress retries with the new access")
	require.Equal(t, ReasonAccessChanged, f.Reason)

	cp.set(accessSecret("ns", "a", "a", "2", server.kubeconfig(t)))
	cp.version = 2
	fresh, err := registry.ForKyma(t.Context(), "ns", "a")
	require.NoError(t, err)
	require.NoError(t, listOnce(t.Context(), fresh))

	registry.Evict("ns", "a", "2")
	require.NoError(t, listOnce(t.Context(), fresh), "access read after the change stays")
}

func TestAChangedAccessSecretAbortsRequestsInProgress(t *testing.T) {
	t.Parallel()
	arrived, leave := make(chan struct{}), make(chan struct{})
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		select {
		case <-r.Context().Done():
		case <-leave:
		}
	})
	defer close(leave)
	registry, cp := newRegistry(t, nil)
	cp.set(accessSecret("ns", "a", "a", "1", kubeconfigOf(t, server)))
	cluster, err := registry.ForKyma(t.Context(), "ns", "a")
	require.NoError(t, err)
	failed := make(chan error, 1)
	go func() { failed <- listOnce(context.Background(), cluster) }()
	<-arrived
	registry.Evict("ns", "a", "")
	require.ErrorIs(t, <-failed, ErrAccessChanged)
}

func TestASecretThatChangedDuringTheReadIsReadAgain(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, nil)
	server := newRemote(t)
	cp.set(accessSecret("ns", "a", "a", "1", server.kubeconfig(t)))
	cp.version = 1
	cp.while = func() { registry.Evict("ns", "a", "2") }
	_, err := registry.ForKyma(t.Context(), "ns", "a")
	require.Equal(t, ReasonAccessChanged, fault.Of(err).Reason)

	cp.set(accessSecret("ns", "a", "a", "2", server.kubeconfig(t)))
	cp.version = 3
	_, err = registry.ForKyma(t.Context(), "ns", "a")
	require.NoError(t, err)
}

func TestALateReaderDoesNotRestoreTheOldAccess(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, nil)
	server := newRemote(t)
	cp.set(accessSecret("ns", "a", "a", "1", server.kubeconfig(t)))
	cp.version = 1
	var fresh *Cluster
	cp.while = func() {
		cp.set(accessSecret("ns", "a", "a", "2", server.kubeconfig(t)))
		cp.mu.Lock()
		cp.version = 2
		cp.mu.Unlock()
		var err error
		fresh, err = registry.ForKyma(t.Context(), "ns", "a")
		require.NoError(t, err)
	}
	late, err := registry.ForKyma(t.Context(), "ns", "a")
	require.NoError(t, err)
	require.Same(t, fresh, late)
}

func TestEvictedAccessStaysUsable(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, func(o *Options) { o.Limits = Limits{MaxClusters: 1} })
	server := newRemote(t)
	server.body = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[]}`
	cp.set(accessSecret("ns", "a", "a", "1", server.kubeconfig(t)), accessSecret("ns", "b", "b", "1", server.kubeconfig(t)))
	a, err := registry.ForKyma(t.Context(), "ns", "a")
	require.NoError(t, err)
	_, err = registry.ForKyma(t.Context(), "ns", "b")
	require.NoError(t, err)
	require.NoError(t, listOnce(t.Context(), a), "the Secret did not change")
}

func TestAChangedSecretEndsTheAccessOfAllKymasThatItServes(t *testing.T) {
	t.Parallel()
	server := newRemote(t)
	secret := func(namespace, kyma, version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, ResourceVersion: version, Labels: map[string]string{shared.LabelKymaName: kyma},
		}}
	}
	for name, change := range map[string]func(*Registry){
		"its own":      func(r *Registry) { r.secretChanged(secret("ns", "a", "1"), secret("ns", "a", "9")) },
		"one for all":  func(r *Registry) { r.secretChanged(secret("garden", "a", "1"), secret("garden", "a", "9")) },
		"a lost label": func(r *Registry) { r.secretChanged(secret("ns", "a", "1"), secret("ns", "other", "9")) },
	} {
		registry, cp := newRegistry(t, func(o *Options) { o.AccessSecretNamespace = "garden" })
		cp.set(accessSecret("ns", "a", "a", "1", server.kubeconfig(t)))
		cp.version = 5
		_, err := registry.ForKyma(t.Context(), "ns", "a")
		require.NoError(t, err)
		registry.secretChanged(secret("elsewhere", "a", "1"), secret("elsewhere", "a", "9"))
		registry.secretChanged(secret("ns", "b", "1"), secret("ns", "b", "9"))
		require.Equal(t, 1, registry.Len(), "a Kyma with the same name in another namespace keeps its cluster")
		change(registry)
		require.Zero(t, registry.Len(), name)
	}
}

func TestKymasWithTheSameNameNeverGetEachOthersCluster(t *testing.T) {
	t.Parallel()
	kubeconfig := newRemote(t).kubeconfig(t)
	common, ownA := accessSecret("garden", "shared", "x", "1", kubeconfig), accessSecret("a", "own", "x", "1", kubeconfig)
	kyma := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	tests := []struct {
		name    string
		secrets []corev1.Secret
		kymas   []types.NamespacedName
		asks    string
		refused string
	}{
		{"the only Kyma with the name gets the shared Secret", []corev1.Secret{common}, []types.NamespacedName{kyma("a", "x"), kyma("b", "y")}, "a", ""},
		{"the first of two Kymas does not get it", []corev1.Secret{common}, []types.NamespacedName{kyma("a", "x"), kyma("b", "x")}, "a", "b/x"},
		{"nor does the second", []corev1.Secret{common}, []types.NamespacedName{kyma("a", "x"), kyma("b", "x")}, "b", "a/x"},
		{"a Kyma with its own Secret leaves the shared one to the other", []corev1.Secret{common, ownA}, []types.NamespacedName{kyma("a", "x"), kyma("b", "x")}, "b", ""},
		{"and uses its own", []corev1.Secret{common, ownA}, []types.NamespacedName{kyma("a", "x"), kyma("b", "x")}, "a", ""},
		{"a Secret in a Kyma's own namespace does not serve another Kyma", []corev1.Secret{common}, []types.NamespacedName{kyma("garden", "x"), kyma("b", "x")}, "b", "garden/x"},
		{"but serves the Kyma there", []corev1.Secret{common}, []types.NamespacedName{kyma("garden", "x"), kyma("b", "x")}, "garden", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			registry, cp := newRegistry(t, func(o *Options) { o.AccessSecretNamespace = "garden" })
			cp.set(test.secrets...)
			cp.kymas = test.kymas
			_, err := registry.ForKyma(t.Context(), test.asks, "x")
			if test.refused == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, fault.Rejected, fault.Of(err).Kind)
			require.Equal(t, ReasonAccessSecretAmbiguous, fault.Of(err).Reason)
			require.Contains(t, err.Error(), test.refused)
			require.Contains(t, err.Error(), "garden/shared")
		})
	}
}

// newServer returns a TLS server with one handler.
func newServer(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return server
}

func kubeconfigOf(t *testing.T, server *httptest.Server) []byte {
	t.Helper()
	return (&remote{Server: server}).kubeconfig(t)
}
