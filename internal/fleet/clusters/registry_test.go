package clusters

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimescheme "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// controlPlane serves Secrets as far as a registry needs them.
type controlPlane struct {
	mu      sync.Mutex
	secrets []corev1.Secret
	kymas   []types.NamespacedName
	// gets counts the reads of Secrets by name.
	gets int
	// version is the resource version of lists. If it is 0, lists have none.
	version int
	// while runs between the read of a list and its response. It may be nil.
	while func()
}

func (c *controlPlane) set(secrets ...corev1.Secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets = secrets
}

func (c *controlPlane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/apis/operator.kyma-project.io/v1beta2":
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","groupVersion":"operator.kyma-project.io/v1beta2","resources":[{"name":"kymas","kind":"Kyma","namespaced":true}]}`))
		return
	case "/apis/operator.kyma-project.io/v1beta2/kymas":
		c.serveKymas(w, r)
		return
	}
	if parts := strings.Split(r.URL.Path, "/"); len(parts) == 7 {
		c.serveSecret(w, parts[4], parts[6])
		return
	}
	body, while := c.listSecrets(r)
	if while != nil {
		while()
	}
	_, _ = w.Write(body)
}

func (c *controlPlane) serveSecret(w http.ResponseWriter, namespace, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gets++
	for _, s := range c.secrets {
		if s.Namespace == namespace && s.Name == name {
			s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
			_ = json.NewEncoder(w).Encode(s)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
	})
}

func (c *controlPlane) serveKymas(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
	for _, kyma := range c.kymas {
		if r.URL.Query().Get("fieldSelector") == "metadata.name="+kyma.Name {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: kyma.Namespace, Name: kyma.Name}})
		}
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (c *controlPlane) listSecrets(r *http.Request) (body []byte, while func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	while, c.while = c.while, nil
	namespace := strings.Split(r.URL.Path, "/")[4]
	list := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	for _, s := range c.secrets {
		if s.Namespace == namespace && r.URL.Query().Get("labelSelector") == shared.LabelKymaName+"="+s.Labels[shared.LabelKymaName] {
			list.Items = append(list.Items, s)
		}
	}
	if c.version > 0 {
		list.ResourceVersion = strconv.Itoa(c.version)
	}
	body, _ = json.Marshal(list)
	return body, while
}

// remote is an API server that serves one group and counts its requests.
type remote struct {
	*httptest.Server
	requests atomic.Int64
	status   atomic.Int64
	body     string
	served   atomic.Bool
}

func newRemote(t testing.TB) *remote {
	t.Helper()
	r := &remote{}
	r.served.Store(true)
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if code := r.status.Load(); code != 0 {
			w.WriteHeader(int(code))
			return
		}
		switch {
		case req.URL.Path == "/apis/example.com/v1" && r.served.Load():
			_, _ = w.Write([]byte(`{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[
				{"name":"samples","kind":"Sample","namespaced":true},{"name":"samples/status","kind":"Sample","namespaced":true}]}`))
		case req.URL.Path == "/apis/example.com":
			_, _ = w.Write([]byte(`{"kind":"APIGroup","name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}`))
		case req.URL.Path == "/redirect":
			http.Redirect(w, req, "/elsewhere", http.StatusFound)
		case r.body != "":
			_, _ = w.Write([]byte(r.body))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *remote) kubeconfig(t testing.TB) []byte {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "c"
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: r.URL, CertificateAuthorityData: ca}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: secretToken}
	raw, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return raw
}

func accessSecret(namespace, name, kyma, version string, kubeconfig []byte) corev1.Secret {
	return corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: version,
			Labels: map[string]string{shared.LabelKymaName: kyma},
		},
		Data: map[string][]byte{shared.AccessSecretKey: kubeconfig},
	}
}

func newRegistry(t testing.TB, change func(*Options)) (*Registry, *controlPlane) {
	t.Helper()
	cp := &controlPlane{}
	server := httptest.NewServer(cp)
	t.Cleanup(server.Close)
	scheme := runtimescheme.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	options := Options{ControlPlane: &rest.Config{Host: server.URL}, Scheme: scheme}
	if change != nil {
		change(&options)
	}
	registry, err := New(options)
	require.NoError(t, err)
	return registry, cp
}

func TestForKymaMakesOneClusterPerSecretVersion(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, nil)
	kubeconfig := newRemote(t).kubeconfig(t)
	ctx := context.Background()

	cp.set(accessSecret("kcp-system", "a", "a", "1", kubeconfig))
	first, err := registry.ForKyma(ctx, "kcp-system", "a")
	require.NoError(t, err)
	again, err := registry.ForKyma(ctx, "kcp-system", "a")
	require.NoError(t, err)
	require.Same(t, first, again)

	cp.set(accessSecret("kcp-system", "a", "a", "2", kubeconfig))
	changed, err := registry.ForKyma(ctx, "kcp-system", "a")
	require.NoError(t, err)
	require.NotSame(t, first, changed, "another version of the Secret is another access")
	require.Equal(t, 1, registry.Len())

	registry.Evict("kcp-system", "a", "")
	require.Equal(t, 0, registry.Len())
}

func TestForKymaGivesOneClusterToConcurrentCallers(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, nil)
	cp.set(accessSecret("kcp-system", "a", "a", "1", newRemote(t).kubeconfig(t)))
	var callers sync.WaitGroup
	got := make([]*Cluster, 20)
	for i := range got {
		callers.Go(func() { got[i], _ = registry.ForKyma(context.Background(), "kcp-system", "a") })
	}
	callers.Wait()
	for _, cluster := range got {
		require.NotNil(t, cluster)
		require.Same(t, got[0], cluster)
	}
}

func TestForKymaReturnsTheReasonWhyThereIsNoAccess(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, func(o *Options) { o.AccessSecretNamespace = "garden" })
	kubeconfig := newRemote(t).kubeconfig(t)

	_, err := registry.ForKyma(context.Background(), "kcp-system", "a")
	require.Equal(t, fault.Unreachable, fault.Of(err).Kind)
	require.Equal(t, "AccessSecretNotFound", fault.Of(err).Reason)
	require.Contains(t, err.Error(), "access secret not found")

	cp.set(accessSecret("garden", "one", "a", "1", kubeconfig), accessSecret("garden", "two", "a", "1", kubeconfig))
	_, err = registry.ForKyma(context.Background(), "kcp-system", "a")
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.Contains(t, err.Error(), "garden/one, garden/two")

	cp.set(accessSecret("garden", "one", "a", "1", kubeconfig), accessSecret("kcp-system", "own", "a", "1", kubeconfig))
	_, err = registry.ForKyma(context.Background(), "kcp-system", "a")
	require.NoError(t, err, "the Kyma's own namespace comes first")

	cp.set(accessSecret("kcp-system", "own", "a", "2", []byte("nonsense")))
	_, err = registry.ForKyma(context.Background(), "kcp-system", "a")
	require.Equal(t, "KubeconfigRejected", fault.Of(err).Reason)
}

func TestASilentControlPlaneIsNotAMissingSecret(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	scheme := runtimescheme.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	registry, err := New(Options{ControlPlane: &rest.Config{Host: server.URL}, Scheme: scheme})
	require.NoError(t, err)
	_, err = registry.ForKyma(context.Background(), "kcp-system", "a")
	require.Equal(t, fault.Transient, fault.Of(err).Kind)
}

func TestRegistryEvictsUnusedClusters(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	registry, cp := newRegistry(t, func(o *Options) {
		o.Clock = func() time.Time { return now }
		o.Limits = Limits{MaxClusters: 2, IdleAfter: time.Minute}
	})
	kubeconfig := newRemote(t).kubeconfig(t)
	cp.set(accessSecret("ns", "a", "a", "1", kubeconfig), accessSecret("ns", "b", "b", "1", kubeconfig), accessSecret("ns", "c", "c", "1", kubeconfig))
	for _, name := range []string{"a", "b", "c"} {
		_, err := registry.ForKyma(context.Background(), "ns", name)
		require.NoError(t, err)
	}
	require.Equal(t, 2, registry.Len(), "the least recently used cluster is evicted")
	now = now.Add(2 * time.Minute)
	_, err := registry.ForKyma(context.Background(), "ns", "c")
	require.NoError(t, err)
	require.Equal(t, 1, registry.Len(), "the use of one cluster evicts idle ones")
}

func TestAccessIsMadeAgainAfterA401(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, nil)
	server := newRemote(t)
	cp.set(accessSecret("ns", "a", "a", "1", server.kubeconfig(t)))
	first, err := registry.ForKyma(context.Background(), "ns", "a")
	require.NoError(t, err)
	server.status.Store(http.StatusUnauthorized)
	_, err = first.Version(context.Background())
	require.Equal(t, ReasonUnreachableUnauthorized, fault.Of(Classify(err)).Reason)
	second, err := registry.ForKyma(context.Background(), "ns", "a")
	require.NoError(t, err)
	require.NotSame(t, first, second)
}

func TestALaterConnectionResumesTheTLSSession(t *testing.T) {
	t.Parallel()
	resumed := make(chan bool, 2)
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		resumed <- r.TLS.DidResume
		_, _ = io.WriteString(w, `{"gitVersion":"v1.36.0"}`)
	})
	registry, cp := newRegistry(t, nil)
	cp.set(accessSecret("ns", "a", "a", "1", kubeconfigOf(t, server)))
	for _, want := range []bool{false, true} {
		cluster, err := registry.ForKyma(t.Context(), "ns", "a")
		require.NoError(t, err)
		response, err := cluster.HTTP.Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, <-resumed)
		cluster.closeIdle()
	}
}

func TestAClusterCannotFloodOrRedirectUs(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, func(o *Options) { o.Limits.MaxResponseBytes = 1 << 10 })
	server := newRemote(t)
	server.body = `{"items":"` + strings.Repeat("x", 2<<10) + `"}`
	cp.set(accessSecret("ns", "a", "a", "1", server.kubeconfig(t)))
	cluster, err := registry.ForKyma(context.Background(), "ns", "a")
	require.NoError(t, err)

	err = cluster.Client.List(context.Background(), &corev1.ConfigMapList{}, client.InNamespace("x"))
	require.ErrorIs(t, err, ErrResponseTooLarge)
	require.Equal(t, fault.Unreachable, fault.Of(Classify(err)).Kind)

	before := server.requests.Load()
	request, err := http.NewRequest(http.MethodGet, server.URL+"/redirect", http.NoBody)
	require.NoError(t, err)
	response, err := cluster.HTTP.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusFound, response.StatusCode)
	require.Equal(t, before+1, server.requests.Load(), "the redirect was not followed")
}

func TestMapperAsksTheClusterOnlyForUnknownKinds(t *testing.T) {
	t.Parallel()
	registry, cp := newRegistry(t, nil)
	server := newRemote(t)
	cp.set(accessSecret("ns", "a", "a", "1", server.kubeconfig(t)))
	cluster, err := registry.ForKyma(context.Background(), "ns", "a")
	require.NoError(t, err)
	ctx := context.Background()

	deployment, err := cluster.Mapper.Resource(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	require.NoError(t, err)
	require.Equal(t, kinds.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Namespaced: true}, deployment)
	require.Zero(t, server.requests.Load(), "built-in kinds cost nothing")

	sample := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Sample"}
	for range 3 {
		found, err := cluster.Mapper.Resource(ctx, sample)
		require.NoError(t, err)
		require.Equal(t, "samples", found.Resource)
		require.True(t, found.Namespaced)
	}
	require.EqualValues(t, 1, server.requests.Load(), "one group version, once")

	_, err = cluster.Mapper.Resource(ctx, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Other"})
	require.True(t, meta.IsNoMatchError(err))
	require.EqualValues(t, 2, server.requests.Load(), "a missing kind is requested once more")

	server.status.Store(http.StatusServiceUnavailable)
	_, err = cluster.Mapper.Resource(ctx, schema.GroupVersionKind{Group: "other.com", Version: "v1", Kind: "Other"})
	require.Error(t, err)
	require.False(t, meta.IsNoMatchError(err), "an API that does not answer is not an API that does not exist")
}

// The budget of docs/design/identity-and-reads.md#access-to-remote-clusters: under 100 KiB of heap for an idle cached cluster.
func TestAnIdleClusterIsSmall(t *testing.T) {
	require.Less(t, heapPerCluster(t, 200), int64(100<<10))
}

// BenchmarkIdleClusters reports the memory of an idle cached cluster, among a thousand of them.
func BenchmarkIdleClusters(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(heapPerCluster(b, 1000)), "heap-bytes/cluster")
	}
}

// heapPerCluster makes access to many clusters, each with its own kubeconfig, authority and token, uses each once, and
// measures the remaining memory.
func heapPerCluster(t testing.TB, clusters int) int64 {
	t.Helper()
	registry, cp := newRegistry(t, nil)
	server := newRemote(t)
	secrets := make([]corev1.Secret, 0, clusters)
	for i := range clusters {
		name := "kyma-" + strconv.Itoa(i)
		secrets = append(secrets, accessSecret("ns", name, name, "1", server.kubeconfig(t)))
	}
	cp.set(secrets...)
	before := heap()
	for i := range secrets {
		cluster, err := registry.ForKyma(context.Background(), "ns", secrets[i].Name)
		require.NoError(t, err)
		_, err = cluster.Mapper.Resource(context.Background(), schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Sample"})
		require.NoError(t, err)
		cluster.closeIdle()
	}
	perCluster := (int64(heap()) - int64(before)) / int64(clusters) //nolint:gosec // far from overflowing
	require.Equal(t, clusters, registry.Len())
	runtime.KeepAlive(secrets)
	t.Logf("%d bytes of heap per idle cluster", perCluster)
	runtime.KeepAlive(registry)
	return perCluster
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
