package memfleet

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// connections knows which connections were last used for which cluster.
type connections struct{ all sync.Map }

type connKey struct{}

// ConnContext is for http.Server, so that Restart knows connections.
func (f *Fleet) ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// ConnState is for http.Server.
func (f *Fleet) ConnState(conn net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		f.conns.all.Delete(conn)
	}
}

func (c *connections) use(ctx context.Context, number int) {
	if conn, ok := ctx.Value(connKey{}).(net.Conn); ok {
		if known, ok := c.all.Load(conn); !ok || known != number {
			c.all.Store(conn, number)
		}
	}
}

// Restart resets the connections of a cluster and ends its watches, as the restart of an API server does. Its data stay.
func (f *Fleet) Restart(number int) {
	f.at(number).store.DropWatches()
	f.conns.all.Range(func(conn, of any) bool {
		if of == number {
			if c, ok := conn.(net.Conn); ok {
				// It may be closed already.
				_ = c.Close()
			}
		}
		return true
	})
}

// Wipe removes all that is in a cluster, as if it was created again: its namespaces have other uids.
func (f *Fleet) Wipe(number int) {
	c := f.at(number)
	c.store.Wipe()
	f.seed(c)
}
