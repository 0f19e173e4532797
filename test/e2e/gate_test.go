package e2e

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

// gate lies between Lifecycle Manager and the remote cluster, at the end of a cable. It holds the request that a test
// names, so that the test can do something while Lifecycle Manager is known to be in the middle of its work.
type gate struct {
	t *testing.T
	*cable

	mu sync.Mutex
	// held is what is to be held, nil for nothing.
	held *hold
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

// gated is the remote cluster's access by way of a gate.
func (s *stage) gated(t *testing.T) (*gate, []byte) {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(s.remoteAccess(t))
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	cluster, err := url.Parse(config.Host)
	require.NoError(t, err)
	g := &gate{t: t}
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
	t.Cleanup(g.drop)
	g.cable = newCable(t, server.Listener.Addr().String())
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return g, access(t, "https://"+g.cable.listener.Addr().String(), authority, nil)
}

// pass waits where the request is to be held. It is false when whoever made it is gone by the time that it is let on.
func (g *gate) pass(r *http.Request) bool {
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

// hold holds the requests of these methods on whatever has the text in its path, from now on, until let or drop
// is called.
func (g *gate) hold(path string, methods ...string) {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Nil(g.t, g.held, "one thing is held at a time")
	g.held = &hold{methods: methods, path: path, reached: make(chan struct{}), open: make(chan struct{})}
}

// await waits until a request is held.
func (g *gate) await() {
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

// let lets on what is held, and what comes.
func (g *gate) let() { g.end(false) }

// drop ends what is held, which never arrives, and lets on what comes.
func (g *gate) drop() { g.end(true) }

func (g *gate) end(dropped bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held != nil {
		g.held.dropped = dropped
		close(g.held.open)
		g.held = nil
	}
}
