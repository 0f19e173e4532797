package cost

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/test/harness/inprocess"
)

const (
	// largeSecrets is how many Secrets there are; LM_TEST_LARGE_SECRETS is another number.
	largeSecrets = 30
	// largeSecret is about the most that a Secret may have.
	largeSecret = 1_000_000
	// secretReceived and secretKept are what the metadata of one may take, as a response and in memory.
	secretReceived, secretKept = 2 << 10, 8 << 10
	// cacheItself is what a cache may take without them: informers of all kinds, clients, and what other tests have made.
	cacheItself = 8 << 20
)

// received counts the bytes of what is asked about Secrets.
type received struct {
	bytes atomic.Int64
	next  http.RoundTripper
}

func (r *received) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err == nil && strings.HasSuffix(request.URL.Path, "/secrets") {
		response.Body = &countedBody{ReadCloser: response.Body, bytes: &r.bytes}
	}
	return response, err
}

type countedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.bytes.Add(int64(n))
	return n, err
}

// A process knows of access Secrets by their metadata alone, however large they are.
func TestOfLargeAccessSecretsTheMetadataAloneIsReceivedAndKept(t *testing.T) {
	count := largeSecrets
	if asked := os.Getenv("LM_TEST_LARGE_SECRETS"); asked != "" {
		var err error
		count, err = strconv.Atoi(asked)
		require.NoError(t, err)
	}
	l := inprocess.New(t, "secrets")
	namespace := makeSecrets(t, l, count)

	counted := &received{}
	config := rest.CopyConfig(l.ControlConfig)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		counted.next = next
		return counted
	})
	before := memory()
	cache := startCache(t, config, l.Scheme, namespace)
	known := fleet.New(cache, nil, l.Control)
	found, err := known.Secrets(t.Context(), namespace, "large-0")
	require.NoError(t, err)
	require.Len(t, found, 1)
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	require.NoError(t, cache.List(t.Context(), all, client.InNamespace(namespace)))
	require.Len(t, all.Items, count)
	after := memory()

	t.Logf("%d Secrets of %d bytes: received %d bytes, kept %d, allocated %d", count, largeSecret,
		counted.bytes.Load(), int64(after.HeapAlloc)-int64(before.HeapAlloc), after.TotalAlloc-before.TotalAlloc)
	require.Positive(t, counted.bytes.Load())
	require.Less(t, counted.bytes.Load(), int64(count*secretReceived+cacheItself/8), "bytes received")
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(count*secretKept+cacheItself), "bytes kept")
	require.Less(t, int64(after.TotalAlloc-before.TotalAlloc), int64(4*count*secretKept+2*cacheItself), "bytes allocated, which bound what is kept temporarily")
	runtime.KeepAlive(cache)
}

// makeSecrets makes access Secrets in a namespace of their own, and deletes them in the end.
func makeSecrets(t *testing.T, l *inprocess.Harness, count int) string {
	t.Helper()
	name := fmt.Sprintf("secrets-%d", time.Now().UnixNano())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	require.NoError(t, l.Control.Create(t.Context(), namespace))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for i := range count { // one request for all would be answered with all of them
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i), Namespace: name}}
			require.NoError(t, client.IgnoreNotFound(l.Control.Delete(ctx, secret)))
		}
		require.NoError(t, l.Control.Delete(ctx, namespace))
	})
	var group errgroup.Group
	group.SetLimit(4)
	for i := range count {
		group.Go(func() error {
			content := make([]byte, largeSecret)
			_, _ = rand.Read(content)
			kyma := fmt.Sprintf("large-%d", i)
			return l.Control.Create(t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: kyma, Namespace: name, Labels: map[string]string{shared.LabelKymaName: kyma}},
				Data:       map[string][]byte{shared.AccessSecretKey: content},
			})
		})
	}
	require.NoError(t, group.Wait())
	return name
}

// memory is what the process uses now, without garbage.
func memory() runtime.MemStats {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats
}
