package proxy

import (
	"bytes"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Blocker is a reverse proxy to a remote cluster behind a TCP proxy. It blocks the request that a test names until the
// test releases or drops it.
type Blocker struct {
	t *testing.T
	*TCP
	// Authority is the certificate authority that clients have to trust, in PEM.
	Authority []byte

	mu sync.Mutex
	// blocked is what is to be blocked; nil for nothing.
	blocked *block
}

// NewBlocker makes a proxy to the cluster of a kubeconfig, whose credentials it uses for all requests.
func NewBlocker(t *testing.T, kubeconfig []byte) *Blocker {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	cluster, err := url.Parse(config.Host)
	require.NoError(t, err)
	b := &Blocker{t: t}
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(cluster); r.Out.Header.Del("Authorization") },
		// A cluster that is gone ends the connection, and answers nothing.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !b.pass(r) {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(b.Drop)
	b.TCP = NewTCP(t, server.Listener.Addr().String())
	b.Authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return b
}

// Block blocks the requests of these methods on whatever has the text in its path, from now on, until Release or
// Drop is called.
func (b *Blocker) Block(path string, methods ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Nil(b.t, b.blocked, "one request is blocked at a time")
	b.blocked = &block{methods: methods, path: path, reached: make(chan struct{}), open: make(chan struct{})}
}

// Await waits until a request is blocked.
func (b *Blocker) Await() {
	b.t.Helper()
	b.mu.Lock()
	blocked := b.blocked
	b.mu.Unlock()
	require.NotNil(b.t, blocked)
	select {
	case <-blocked.reached:
	case <-time.After(2 * time.Minute):
		require.NoError(b.t, errors.New("no client sends "+strings.Join(blocked.methods, " or ")+" "+blocked.path))
	}
}

// Release forwards what is blocked, and all that follows.
func (b *Blocker) Release() { b.end(false) }

// Drop ends what is blocked, which never arrives, and forwards all that follows.
func (b *Blocker) Drop() { b.end(true) }

func (b *Blocker) end(dropped bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blocked != nil {
		b.blocked.dropped = dropped
		close(b.blocked.open)
		b.blocked = nil
	}
}

// pass waits where the request is to be blocked. It returns false when the client is gone by the time of the release.
func (b *Blocker) pass(r *http.Request) bool {
	b.mu.Lock()
	blocked := b.blocked
	b.mu.Unlock()
	if !blocked.isFor(r) {
		return true
	}
	// Only of a request that was read does the server notice that its client is gone.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	blocked.once.Do(func() { close(blocked.reached) })
	select {
	case <-blocked.open:
	case <-r.Context().Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !blocked.dropped && r.Context().Err() == nil
}

// block is one wait for a request.
type block struct {
	methods []string
	path    string
	// reached is closed when the request is there, and open releases it.
	reached, open chan struct{}
	once          sync.Once
	// dropped is set where what was blocked never arrives.
	dropped bool
}

func (h *block) isFor(r *http.Request) bool {
	return h != nil && slices.Contains(h.methods, r.Method) && strings.Contains(r.URL.Path, h.path)
}
