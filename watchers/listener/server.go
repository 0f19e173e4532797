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
	// gatewayStreams is how many requests a gateway has on one connection, which are of many agents.
	gatewayStreams = 250
	// streamBytes is what a client may send of one request before it is read, of all on a connection connectionBytes.
	streamBytes     = 32 << 10
	connectionBytes = 128 << 10
)

// open opens the port, and bounds its connections.
func (l *Listener) open(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	port, err := config.Listen(ctx, "tcp", l.options.Address)
	if err != nil {
		return nil, fmt.Errorf("open the listener's port: %w", err)
	}
	at := port.Addr()
	l.address.Store(&at)
	l.options.Log.Info("listening for events of remote clusters", logkey.Address, at.String(), logkey.Mode, string(l.options.Routing))
	return &guarded{
		Listener: netutil.LimitListener(port, l.limits.connections), within: l.limits.proof, clusters: l.clusters,
		cut: func() { l.metrics.Received.WithLabelValues(resultUnproven).Inc() },
	}, nil
}

// server is the HTTP server behind the port.
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
		// Handshakes are broken off by every probe of the port. The level is that of lines for debugging, V(1).
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(l.options.Log), slog.LevelInfo-1),
	}
}

// guarded closes connections on which nobody proves in time who they are: in the handshake, before the first request, or
// as its certificate is refused. Otherwise whoever reaches the port could take all connections there are.
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

// connection is one of an agent or a gateway.
type connection struct {
	net.Conn

	clusters *clusters

	mu sync.Mutex
	// timer closes the connection unless it is proven.
	timer  *time.Timer
	closed bool
	// name is the common name that it counts for.
	name string
}

// prove says that a valid certificate came on the connection. Where TLS ends here, the name is whose it is: it tells
// whether that cluster may have the connection.
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

// withConnection has requests know their connection.
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

// clusters counts what is there at once of each cluster, by the common name of its certificate, so that one cannot take
// all that there is for all.
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
