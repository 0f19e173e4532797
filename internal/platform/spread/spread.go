// Package spread spreads work over time by hashes. The same key gets the same delay in every process and in every
// replay of a workflow, so no delay has to be stored.
//
// A cluster's position in a ModuleRollout uses another hash (internal/model/rollout.Position), because users see that
// position and its resolution matters.
package spread

import (
	"hash/fnv"
	"strings"
	"time"
)

// parts is the number of different delays.
const parts = 10_000

// Hash returns the FNV-1a hash of a key.
func Hash(key string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return h.Sum64()
}

// Delay returns the delay of a key within a span: at least zero, and less than the span.
func Delay(span time.Duration, key ...string) time.Duration {
	return time.Duration(float64(span) * float64(Hash(strings.Join(key, "/"))%parts) / parts)
}
