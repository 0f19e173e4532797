// Package proxy has proxies between Lifecycle Manager and a remote cluster: [TCP] forwards connections until a test cuts or
// silences it, and a [Blocker] also blocks a chosen request, so that a test acts while the product is known to be in the
// middle of its work. Neither depends on an environment; harness.Environment has methods that set them up.
package proxy

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TCP forwards connections to an address until the test cuts or silences it.
type TCP struct {
	listener net.Listener
	to       string

	mu          sync.Mutex
	mode        Mode
	connections map[net.Conn]bool
}

// Mode is what happens to connections.
type Mode int

const (
	// Forward forwards everything.
	Forward Mode = iota
	// Silent accepts connections and forwards nothing, as a cluster that never answers.
	Silent
	// Cut ends every connection at once.
	Cut
)

// NewTCP listens on loopback until the end of the test, and forwards to an address.
func NewTCP(t testing.TB, to string) *TCP {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &TCP{listener: listener, to: to, connections: map[net.Conn]bool{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.accept()
	}()
	t.Cleanup(func() {
		c.Close()
		<-done
	})
	return c
}

// Address is where the proxy listens.
func (c *TCP) Address() string { return c.listener.Addr().String() }

// Set changes the mode, and ends the open connections.
func (c *TCP) Set(mode Mode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mode = mode
	for connection := range c.connections {
		_ = connection.Close()
	}
	c.connections = map[net.Conn]bool{}
}

// Close ends the proxy for good: connections are refused.
func (c *TCP) Close() {
	_ = c.listener.Close()
	c.Set(Cut)
}

func (c *TCP) accept() {
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		in, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		mode := c.mode
		if mode == Cut {
			_ = in.Close()
		} else {
			c.connections[in] = true
		}
		c.mu.Unlock()
		if mode == Forward {
			connections.Go(func() { c.forward(in) })
		}
	}
}

// forward forwards one connection until either side or the test ends it.
func (c *TCP) forward(in net.Conn) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", c.to) //nolint:noctx // loopback
	if err != nil {
		return
	}
	c.mu.Lock()
	c.connections[out] = true
	c.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	})
	_, _ = io.Copy(in, out)
	_ = in.Close()
	both.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.connections, in)
	delete(c.connections, out)
}
