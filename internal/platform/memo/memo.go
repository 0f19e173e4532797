// Package memo keeps a value for a few seconds, so that callers with the same question share one read.
package memo

import (
	"context"
	"sync"
	"time"
)

// Value holds the last value that was read. It is safe for concurrent use: a caller waits for a read in progress.
type Value[T any] struct {
	lasts time.Duration
	clock func() time.Time

	mu   sync.Mutex
	kept T
	read time.Time
}

// New returns a Value that is read again once it is as old as lasts. The clock may be nil.
func New[T any](lasts time.Duration, clock func() time.Time) *Value[T] {
	if clock == nil {
		clock = time.Now
	}
	return &Value[T]{lasts: lasts, clock: clock}
}

// Get returns the kept value, or reads it if it is too old. Errors are not kept.
func (v *Value[T]) Get(ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if age := v.clock().Sub(v.read); !v.read.IsZero() && age >= 0 && age < v.lasts {
		return v.kept, nil
	}
	found, err := read(ctx)
	if err != nil {
		return found, err
	}
	v.kept, v.read = found, v.clock()
	return found, nil
}

// Set keeps a value that the caller has read anyway.
func (v *Value[T]) Set(found T) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept, v.read = found, v.clock()
}
