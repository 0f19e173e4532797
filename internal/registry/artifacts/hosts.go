package artifacts

import (
	"context"
	"io"
	"sync"
)

// hosts limits the number of concurrent requests per registry, so that a slow registry does not block requests to
// others, and none gets flooded.
type hosts struct {
	limit int

	mu    sync.Mutex
	slots map[string]chan struct{}
}

// enter waits for a slot. The caller must call leave after it has read the response.
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

// slotBody releases the slot when the body is closed.
type slotBody struct {
	io.ReadCloser
	release func()
}

func (l *slotBody) Close() error {
	defer l.release()
	return l.ReadCloser.Close()
}
