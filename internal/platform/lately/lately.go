// Package lately has caches that keep the most recently used values.
package lately

import lru "github.com/hashicorp/golang-lru/v2"

// Cache keeps the most recently used values.
type Cache[K comparable, V any] = lru.Cache[K, V]

// New returns a cache that keeps at most this many values. The number must be positive.
func New[K comparable, V any](most int) *Cache[K, V] {
	cache, err := lru.New[K, V](most)
	if err != nil {
		panic(err) // only a size that is not positive causes an error
	}
	return cache
}
