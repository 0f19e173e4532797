package e2e

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// cable is a connection between Lifecycle Manager and a cluster that a test can cut, or fill with silence.
type cable struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	mode  cableMode
	lines map[net.Conn]bool
}

type cableMode int

const (
	// cablePasses passes everything on.
	cablePasses cableMode = iota
	// cableSilent accepts connections and passes nothing on, as a cluster that never answers.
	cableSilent
	// cableCut ends every connection at once.
	cableCut
)

func newCable(t testing.TB, to string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{listener: listener, to: to, lines: map[net.Conn]bool{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.accept()
	}()
	t.Cleanup(func() {
		c.unplug()
		<-done
	})
	return c
}

func (c *cable) accept() {
	var lines sync.WaitGroup
	defer lines.Wait()
	for {
		in, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		mode := c.mode
		if mode == cableCut {
			_ = in.Close()
		} else {
			c.lines[in] = true
		}
		c.mu.Unlock()
		if mode == cablePasses {
			lines.Go(func() { c.pass(in) })
		}
	}
}

// pass carries one connection until either side or the test ends it.
func (c *cable) pass(in net.Conn) {
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

// unplug ends the cable for good: whoever connects is refused.
func (c *cable) unplug() {
	_ = c.listener.Close()
	c.set(cableCut)
}

// set changes what becomes of connections. Those that are open end.
func (c *cable) set(mode cableMode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mode = mode
	for line := range c.lines {
		_ = line.Close()
	}
	c.lines = map[net.Conn]bool{}
}
