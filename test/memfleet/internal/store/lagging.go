package store

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lagging is what reads see that are answered from a state some writes ago.
type lagging struct {
	// behind is by how many writes; 0 for not at all.
	behind int
	// states are those before the last writes, the oldest first.
	states []state
}

type state struct {
	revision uint64
	objects  map[schema.GroupResource][]*Record
}

// keep notes the present state, under the lock, where somebody may be shown it later.
func (l *lagging) keep(c *Cluster) {
	if l.behind == 0 {
		return
	}
	objects := maps.Clone(c.objects)
	for resource, records := range objects {
		objects[resource] = slices.Clone(records)
	}
	l.states = append(l.states, state{c.revision, objects})
	if len(l.states) > l.behind {
		l.states = slices.Delete(l.states, 0, 1)
	}
}

// Lag makes the cluster remember its states before the last writes, for reads with a context of Stale. 0 ends that.
func (c *Cluster) Lag(writes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if writes != c.lagging.behind {
		c.lagging = lagging{behind: writes}
	}
}

type staleKey struct{}

// Stale returns a context whose reads are answered from the oldest state that the cluster remembers.
func Stale(ctx context.Context) context.Context { return context.WithValue(ctx, staleKey{}, true) }

// view returns what a read is to see: the records of a resource with a prefix, and the revision.
func (c *Cluster) view(ctx context.Context, resource schema.GroupResource, prefix string) ([]*Record, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects, revision := c.objects, c.revision
	if stale, _ := ctx.Value(staleKey{}).(bool); stale && len(c.lagging.states) > 0 {
		objects, revision = c.lagging.states[0].objects, c.lagging.states[0].revision
	}
	return slices.Clone(within(objects[resource], prefix)), revision
}
