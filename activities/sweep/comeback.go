package sweep

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// comebacks remembers which clusters were marked unreachable although they answered the sweep's probe. Their Kymas
// are kicked at once, and again only after longer and longer waits while they stay marked: a cluster that lets us
// read but not write would else cost a look, with its history, in every pass for months. A worker that is new to a
// Kyma begins anew, which costs one kick too many.
type comebacks struct {
	mu    sync.Mutex
	kicks map[types.UID]comeback
}

// comeback is the last kick of one Kyma, and how long it counts.
type comeback struct {
	at   time.Time
	wait time.Duration
}

// maxComebackWait bounds the doubling.
const maxComebackWait = 24 * time.Hour

// maxComebacks bounds what is remembered.
const maxComebacks = 10_000

// due tells whether a Kyma whose cluster answers again is to be kicked now, and takes it as done.
func (c *comebacks) due(uid types.UID, now time.Time, interval time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.kicks[uid]
	if known && now.Sub(last.at) < last.wait {
		return false
	}
	if c.kicks == nil || len(c.kicks) >= maxComebacks && !known {
		c.kicks = map[types.UID]comeback{}
	}
	wait := interval
	if known {
		wait = min(2*last.wait, maxComebackWait)
	}
	c.kicks[uid] = comeback{at: now, wait: wait}
	return true
}

// forget is told of a Kyma whose cluster is not marked unreachable.
func (c *comebacks) forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kicks, uid)
}
