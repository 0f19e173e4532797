// Package spread spreads work over time by hashes. Whoever asks with the same key gets the same answer, in every process and in
// every replay of a workflow, so nothing has to be stored.
//
// The position of a cluster in a ModuleRollout is another hash (internal/model/rollout.Position): users see it, so its
// resolution matters there.
package spread

import (
	"hash/fnv"
	"strings"
	"time"
)

// parts is how many different delays there are.
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
