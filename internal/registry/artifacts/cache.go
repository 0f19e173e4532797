package artifacts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"golang.org/x/sync/singleflight"
)

// Cache holds values that are expensive to make, up to a budget of bytes. It evicts the least recently used values
// first. Concurrent callers of one key share one load. It is safe for concurrent use.
type Cache[V any] struct {
	budget int64
	flight singleflight.Group

	mu    sync.Mutex
	bytes int64
	lru   *simplelru.LRU[string, sized[V]]
}

type sized[V any] struct {
	value V
	bytes int64
}

// NewCache returns an empty cache.
func NewCache[V any](budget int64) *Cache[V] {
	c := &Cache[V]{budget: budget}
	// The limit is the number of bytes, not of values. NewLRU returns an error only if its size is not positive.
	c.lru, _ = simplelru.NewLRU(math.MaxInt, func(_ string, e sized[V]) { c.bytes -= e.bytes })
	return c
}

// Get returns the value for a key, and loads a missing value. load also returns the size of the value in bytes. Errors
// are not kept. Callers share the load, so it does not end with one caller's context and must bound its own time.
// Callers must not change the value.
func (c *Cache[V]) Get(ctx context.Context, key string, load func(context.Context) (V, int64, error)) (V, error) {
	if value, ok := c.Peek(key); ok {
		return value, nil
	}
	return c.Renew(ctx, key, func(ctx context.Context) (V, int64, error) {
		if value, ok := c.Peek(key); ok {
			return value, 0, errAlreadyThere
		}
		return load(ctx)
	})
}

// errAlreadyThere says that the value came from the cache.
var errAlreadyThere = errors.New("already there")

// Renew loads the value for a key, even if the cache has one, and keeps it.
func (c *Cache[V]) Renew(ctx context.Context, key string, load func(context.Context) (V, int64, error)) (V, error) {
	result := c.flight.DoChan(key, func() (any, error) {
		value, bytes, err := guarded(context.WithoutCancel(ctx), load)
		switch {
		case errors.Is(err, errAlreadyThere):
			return value, nil
		case err == nil:
			c.Put(key, value, bytes)
		}
		return value, err
	})
	var none V
	select {
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case r := <-result:
		if r.Err != nil {
			return none, r.Err
		}
		value, _ := r.Val.(V)
		return value, nil
	}
}

// Peek returns the value for a key if the cache has it.
func (c *Cache[V]) Peek(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.lru.Get(key)
	return e.value, ok
}

// Put stores a value. A value above the whole budget is not kept.
func (c *Cache[V]) Put(key string, value V, bytes int64) {
	if bytes > c.budget {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
	c.lru.Add(key, sized[V]{value: value, bytes: bytes})
	c.bytes += bytes
	for c.bytes > c.budget {
		c.lru.RemoveOldest()
	}
}

// guarded returns a panic in a load (a hostile template, a bug in a parser) as an error, so that it does not end the
// process. The load runs in a goroutine of the single flight, where callers cannot recover. The stack goes to the log
// only, because errors get into statuses and histories.
func guarded[V any](ctx context.Context, load func(context.Context) (V, int64, error)) (value V, bytes int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			what, _, _ := strings.Cut(fmt.Sprintf("%.200v", p), "\n")
			loggerOf(ctx).Error("a load panicked", logkey.Panic, what, logkey.Stack, string(debug.Stack()))
			err = fmt.Errorf("panic: %s", what)
		}
	}()
	return load(ctx)
}

// loggerOf returns the logger of the activity that the load belongs to, or else the default logger.
func loggerOf(ctx context.Context) log.Logger {
	if activity.IsActivity(ctx) {
		return activity.GetLogger(ctx)
	}
	return log.NewStructuredLogger(slog.Default())
}
