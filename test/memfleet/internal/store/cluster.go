// Package store keeps the objects of thousands of clusters in memory, as a storage backend of Kubernetes' own API
// server code. One Storage serves one resource of all clusters: which cluster a request is for is in its context. What
// clusters have in common is kept once.
package store

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Cluster has the objects of one cluster. It is safe for concurrent use.
type Cluster struct {
	// changed is called after every write, without holding a lock.
	changed func(Change)

	mu       sync.Mutex
	revision uint64
	// objects are by resource, sorted by key.
	objects  map[schema.GroupResource][]*Record
	watchers map[*watcher]struct{}
	// log are the last changes, kept from the first watch on, for those who watch from a revision.
	log     []Change
	logging bool
	// logFrom is the revision that the log goes back to.
	logFrom uint64
	lagging lagging
	// derived is what others worked out of the objects of a resource, until one of them changes.
	derived map[schema.GroupResource]any
}

// Change is one write.
type Change struct {
	Resource schema.GroupResource
	// Before is nil for a creation, After for a removal.
	Before, After *Record
	// Revision is the cluster's after the write.
	Revision uint64
}

// logLength is how many changes are kept for those who watch from a revision.
const logLength = 512

// firstRevision is the resourceVersion of an empty cluster: a client takes 0 for none.
const firstRevision = 1

// NewCluster returns an empty cluster. The function, which may be nil, is called for every write.
func NewCluster(changed func(Change)) *Cluster {
	return &Cluster{changed: changed, revision: firstRevision, objects: map[schema.GroupResource][]*Record{}}
}

type clusterKey struct{}

// In returns a context for requests to a cluster.
func In(ctx context.Context, c *Cluster) context.Context {
	return context.WithValue(ctx, clusterKey{}, c)
}

// From returns the cluster that a context is for; nil for none.
func From(ctx context.Context) *Cluster {
	c, _ := ctx.Value(clusterKey{}).(*Cluster)
	return c
}

// Revision is that of the last write.
func (c *Cluster) Revision() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision
}

// Get returns a record; nil where there is none.
func (c *Cluster) Get(resource schema.GroupResource, key string) *Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, _ := find(c.objects[resource], key)
	return r
}

// All returns the records of a resource whose keys begin with a prefix, sorted by key.
func (c *Cluster) All(resource schema.GroupResource, prefix string) []*Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(within(c.objects[resource], prefix))
}

// Resources are those of which there are objects, sorted.
func (c *Cluster) Resources() []schema.GroupResource {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]schema.GroupResource, 0, len(c.objects))
	for resource, records := range c.objects {
		if len(records) > 0 {
			all = append(all, resource)
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// Len is the number of objects.
func (c *Cluster) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, records := range c.objects {
		n += len(records)
	}
	return n
}

// Derived returns what a function works out of the objects of a resource. It is kept until one of them is written, and
// there is one for each resource. The function may be called more than once at a time, and must not call the cluster.
func (c *Cluster) Derived(resource schema.GroupResource, work func([]*Record) any) any {
	c.mu.Lock()
	known, ok := c.derived[resource]
	revision, records := c.revision, slices.Clone(c.objects[resource])
	c.mu.Unlock()
	if ok {
		return known
	}
	result := work(records)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.revision == revision {
		if c.derived == nil {
			c.derived = map[schema.GroupResource]any{}
		}
		c.derived[resource] = result
	}
	return result
}

// put puts next in the place of before, where that is still what is there; else it does nothing and returns false.
// A nil before is for a creation, a nil next for a removal. It returns the revision of the write.
func (c *Cluster) put(resource schema.GroupResource, key string, before, next *Record) (uint64, bool) {
	c.mu.Lock()
	records := c.objects[resource]
	there, at := find(records, key)
	if there != before {
		c.mu.Unlock()
		return 0, false
	}
	c.lagging.keep(c)
	delete(c.derived, resource)
	c.revision++
	if next != nil {
		next.revision = c.revision
	}
	switch {
	case next == nil:
		c.objects[resource] = slices.Delete(records, at, at+1)
	case before == nil:
		c.objects[resource] = slices.Insert(records, at, next)
	default:
		records[at] = next
	}
	change := Change{Resource: resource, Before: before, After: next, Revision: c.revision}
	c.note(change)
	c.mu.Unlock()
	if c.changed != nil {
		c.changed(change)
	}
	return change.Revision, true
}

// note notifies watchers, under the lock, so that they see all changes in order.
func (c *Cluster) note(change Change) {
	if !c.logging {
		return
	}
	if len(c.log) >= 2*logLength {
		c.log = slices.Clone(c.log[len(c.log)-logLength:])
		c.logFrom = c.log[0].Revision - 1
	}
	c.log = append(c.log, change)
	for w := range c.watchers {
		w.add(change)
	}
}

// Wipe removes all objects, as a cluster that lost its data has none, and ends its watches. Revisions go on.
func (c *Cluster) Wipe() {
	c.mu.Lock()
	c.objects = map[schema.GroupResource][]*Record{}
	c.log, c.logging = nil, false
	c.lagging, c.derived = lagging{}, nil
	c.revision++
	c.mu.Unlock()
	c.DropWatches()
}

// DropWatches ends all watches.
func (c *Cluster) DropWatches() {
	c.mu.Lock()
	watchers := c.watchers
	c.watchers = nil
	c.mu.Unlock()
	for w := range watchers {
		w.Stop()
	}
}

// find returns a record, or nil, and where it is or would be.
func find(records []*Record, key string) (*Record, int) {
	at, found := slices.BinarySearchFunc(records, key, func(r *Record, key string) int { return strings.Compare(r.Key(), key) })
	if !found {
		return nil, at
	}
	return records[at], at
}

// within are the records whose keys begin with a prefix.
func within(records []*Record, prefix string) []*Record {
	if prefix == "" {
		return records
	}
	_, from := find(records, prefix)
	to := from
	for to < len(records) && strings.HasPrefix(records[to].Key(), prefix) {
		to++
	}
	return records[from:to]
}

// Copy puts a copy of another cluster's object into this one, made now and with a uid of its own. What is there stays.
func (c *Cluster) Copy(resource schema.GroupResource, r *Record, now time.Time) {
	next := *r
	next.uid, next.created = uuid.New(), now.Unix()
	next.times = slices.Clone(r.times)
	for i := range next.times {
		next.times[i] = next.created
	}
	c.put(resource, r.Key(), nil, &next)
}
