package listener

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

const (
	// gatewayStreams is how many requests of many agents a gateway may have on one connection.
	gatewayStreams = 250
	// streamBytes is how many unread bytes of one request a client may send, connectionBytes how many of all requests
	// of a connection.
	streamBytes     = 32 << 10
	connectionBytes = 128 << 10
)

// open opens the port, and bounds the number of connections.
func (l *Listener) open(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	port, err := config.Listen(ctx, "tcp", l.options.Address)
	if err != nil {
		return nil, fmt.Errorf("open the listener's port: %w", err)
	}
	at := port.Addr()
	l.address.Store(&at)
	l.options.Log.Info("listening for events from remote clusters", logkey.Address, at.String(), logkey.Mode, string(l.options.Routing))
	return &guarded{
		Listener: netutil.LimitListener(port, l.limits.connections), within: l.limits.proof, clusters: l.clusters,
		cut: func() { l.metrics.Received.WithLabelValues(resultUnproven).Inc() },
	}, nil
}

// server returns the HTTP server behind the port.
func (l *Listener) server() *http.Server {
	streams := l.limits.requestsPerCluster
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	if l.options.Routing == desired.RoutingDirect {
		protocols.SetHTTP2(true)
	} else {
		protocols.SetUnencryptedHTTP2(true)
		streams = gatewayStreams
	}
	return &http.Server{
		Handler: l, TLSConfig: l.tlsConfig(), Protocols: protocols,
		ReadHeaderTimeout: l.limits.readHeader, ReadTimeout: l.limits.read, WriteTimeout: l.limits.write, IdleTimeout: l.limits.idle,
		MaxHeaderBytes: l.limits.headerBytes,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: streams, MaxReceiveBufferPerStream: streamBytes, MaxReceiveBufferPerConnection: connectionBytes},
		ConnContext:    withConnection,
		// Every probe of the port aborts a handshake, so these errors are logged at the debug level, V(1).
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(l.options.Log), slog.LevelInfo-1),
	}
}

// guarded closes connections that do not present a valid certificate in time, whether in the handshake, before the
// first request, or because the certificate is refused. Otherwise anybody who reaches the port could use up all
// connections.
type guarded struct {
	net.Listener

	within   time.Duration
	clusters *clusters
	cut      func()
}

// Accept implements net.Listener.
func (g *guarded) Accept() (net.Conn, error) {
	accepted, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, clusters: g.clusters}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(g.within, func() {
		g.cut()
		_ = c.Close()
	})
	return c, nil
}

// connection is a connection of an agent or a gateway.
type connection struct {
	net.Conn

	clusters *clusters

	mu sync.Mutex
	// timer closes the connection unless a valid certificate is presented.
	timer  *time.Timer
	closed bool
	// name is the common name that the connection counts for.
	name string
}

// prove records that a request on the connection had a valid certificate. If TLS ends here, name is the certificate's
// common name, and prove reports whether its cluster may have the connection.
func (c *connection) prove(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name != c.name {
		if c.closed || !c.clusters.connect(name) {
			return false
		}
		c.name = name
	}
	c.timer.Stop()
	return true
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.mu.Lock()
	if !c.closed && c.name != "" {
		c.clusters.disconnect(c.name)
	}
	c.closed = true
	c.timer.Stop()
	c.mu.Unlock()
	return c.Conn.Close()
}

type connectionKey struct{}

// withConnection stores the connection in the context of its requests.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

func connectionOf(ctx context.Context) (*connection, bool) {
	c, ok := ctx.Value(connectionKey{}).(*connection)
	return c, ok
}

// clusters counts concurrent connections and requests per cluster, by the common name of its certificate, so that one
// cluster cannot use up all of them.
type clusters struct {
	mu                    sync.Mutex
	connections, requests map[string]int
	maxConnections        int
	maxRequests           int
}

func newClusters(limits limits) *clusters {
	return &clusters{
		connections: map[string]int{}, requests: map[string]int{}, maxConnections: limits.connectionsPerCluster, maxRequests: limits.requestsPerCluster,
	}
}

func (c *clusters) connect(name string) bool { return c.acquire(c.connections, name, c.maxConnections) }
func (c *clusters) disconnect(name string)   { c.release(c.connections, name) }
func (c *clusters) begin(name string) bool   { return c.acquire(c.requests, name, c.maxRequests) }
func (c *clusters) end(name string)          { c.release(c.requests, name) }

func (c *clusters) acquire(of map[string]int, name string, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of[name] >= most {
		return false
	}
	of[name]++
	return true
}

func (c *clusters) release(of map[string]int, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of[name]--
	if of[name] <= 0 {
		delete(of, name)
	}
}
