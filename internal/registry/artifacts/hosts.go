package artifacts

import (
	"context"
	"io"
	"sync"
)

// hosts bounds how many requests are under way to one registry, so that a slow one does not keep us from the others,
// and none is flooded.
type hosts struct {
	limit int

	mu    sync.Mutex
	slots map[string]chan struct{}
}

// enter waits for a slot. The caller calls leave when the answer was read.
func (h *hosts) enter(ctx context.Context, host string) (leave func(), err error) {
	h.mu.Lock()
	slots, known := h.slots[host]
	if !known {
		slots = make(chan struct{}, h.limit)
		h.slots[host] = slots
	}
	h.mu.Unlock()
	select {
	case slots <- struct{}{}:
		return sync.OnceFunc(func() { <-slots }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// slotBody gives the slot back when the body is closed.
type slotBody struct {
	io.ReadCloser
	release func()
}

func (l *slotBody) Close() error {
	defer l.release()
	return l.ReadCloser.Close()
}
