// Package lately makes caches of what was used lately.
package lately

import lru "github.com/hashicorp/golang-lru/v2"

// Cache keeps what was used lately.
type Cache[K comparable, V any] = lru.Cache[K, V]

// New returns a cache that keeps so many values at most, which is more than none.
func New[K comparable, V any](most int) *Cache[K, V] {
	cache, err := lru.New[K, V](most)
	if err != nil {
		panic(err) // only a size that is not positive is refused
	}
	return cache
}
