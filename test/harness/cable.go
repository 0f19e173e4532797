package harness

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
)

// Cable is a connection between Lifecycle Manager and a cluster that a test can cut, or fill with silence.
type Cable struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	mode  CableMode
	lines map[net.Conn]bool
}

// CableMode is what becomes of connections through a cable.
type CableMode int

const (
	// CablePasses passes everything on.
	CablePasses CableMode = iota
	// CableSilent accepts connections and passes nothing on, as a cluster that never answers.
	CableSilent
	// CableCut ends every connection at once.
	CableCut
)

// NewCable lays a cable to an address, until the end of the test. It passes everything on at first.
func NewCable(t testing.TB, to string) *Cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &Cable{listener: listener, to: to, lines: map[net.Conn]bool{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.accept()
	}()
	t.Cleanup(func() {
		c.Unplug()
		<-done
	})
	return c
}

// Through is a cable to the remote cluster, and the kubeconfig that leads there by way of it.
func (s *Stage) Through(t *testing.T) (*Cable, []byte) {
	t.Helper()
	config, err := clientcmd.Load(s.RemoteAccess(t))
	require.NoError(t, err)
	server := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	address, err := url.Parse(server.Server)
	require.NoError(t, err)
	c := NewCable(t, address.Host)
	server.Server = "https://" + c.Address()
	raw, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return c, raw
}

// Address is where the cable begins: whoever connects there is connected with what it leads to.
func (c *Cable) Address() string { return c.listener.Addr().String() }

// Set changes what becomes of connections. Those that are open end.
func (c *Cable) Set(mode CableMode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mode = mode
	for line := range c.lines {
		_ = line.Close()
	}
	c.lines = map[net.Conn]bool{}
}

// Unplug ends the cable for good: whoever connects is refused.
func (c *Cable) Unplug() {
	_ = c.listener.Close()
	c.Set(CableCut)
}

func (c *Cable) accept() {
	var lines sync.WaitGroup
	defer lines.Wait()
	for {
		in, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		mode := c.mode
		if mode == CableCut {
			_ = in.Close()
		} else {
			c.lines[in] = true
		}
		c.mu.Unlock()
		if mode == CablePasses {
			lines.Go(func() { c.pass(in) })
		}
	}
}

// pass carries one connection until either side or the test ends it.
func (c *Cable) pass(in net.Conn) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", c.to) //nolint:noctx // loopback
	if err != nil {
		return
	}
	c.mu.Lock()
	c.lines[out] = true
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
	delete(c.lines, in)
	delete(c.lines, out)
}
