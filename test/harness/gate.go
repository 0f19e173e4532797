package harness

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

// Gate lies between Lifecycle Manager and the remote cluster, at the end of a cable. It holds the request that a test
// names, so that the test can do something while Lifecycle Manager is known to be in the middle of its work.
type Gate struct {
	t *testing.T
	*Cable

	mu sync.Mutex
	// held is what is to be held, nil for nothing.
	held *hold
}

// Gated is a gate to the remote cluster, and the kubeconfig that leads there by way of it.
func (s *Stage) Gated(t *testing.T) (*Gate, []byte) {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(s.RemoteAccess(t))
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	cluster, err := url.Parse(config.Host)
	require.NoError(t, err)
	g := &Gate{t: t}
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(cluster); r.Out.Header.Del("Authorization") },
		// A cluster that is gone ends the connection, and answers nothing.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.pass(r) {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(g.Drop)
	g.Cable = NewCable(t, server.Listener.Addr().String())
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return g, Kubeconfig(t, "https://"+g.Address(), authority, nil)
}

// Hold holds the requests of these methods on whatever has the text in its path, from now on, until Let or Drop
// is called.
func (g *Gate) Hold(path string, methods ...string) {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Nil(g.t, g.held, "one thing is held at a time")
	g.held = &hold{methods: methods, path: path, reached: make(chan struct{}), open: make(chan struct{})}
}

// Await waits until a request is held.
func (g *Gate) Await() {
	g.t.Helper()
	g.mu.Lock()
	held := g.held
	g.mu.Unlock()
	require.NotNil(g.t, held)
	select {
	case <-held.reached:
	case <-time.After(2 * time.Minute):
		require.NoError(g.t, errors.New("nobody sends "+strings.Join(held.methods, " or ")+" "+held.path))
	}
}

// Let lets on what is held, and what comes.
func (g *Gate) Let() { g.end(false) }

// Drop ends what is held, which never arrives, and lets on what comes.
func (g *Gate) Drop() { g.end(true) }

func (g *Gate) end(dropped bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held != nil {
		g.held.dropped = dropped
		close(g.held.open)
		g.held = nil
	}
}

// pass waits where the request is to be held. It is false when whoever made it is gone by the time that it is let on.
func (g *Gate) pass(r *http.Request) bool {
	g.mu.Lock()
	held := g.held
	g.mu.Unlock()
	if !held.isFor(r) {
		return true
	}
	// Only of a request that was read does the server notice that its client is gone.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	held.once.Do(func() { close(held.reached) })
	select {
	case <-held.open:
	case <-r.Context().Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return !held.dropped && r.Context().Err() == nil
}

// hold is one wait for a request.
type hold struct {
	methods []string
	path    string
	// reached is closed when the request is there, and open lets it on.
	reached, open chan struct{}
	once          sync.Once
	// dropped is set where what was held never arrives.
	dropped bool
}

func (h *hold) isFor(r *http.Request) bool {
	return h != nil && slices.Contains(h.methods, r.Method) && strings.Contains(r.URL.Path, h.path)
}
