// Package queue keeps the events that the agent still has to send. It merges events: each object is queued once per
// manager, however often it changes. Each manager has its own subqueue, so that a manager with failing events does
// not delay others.
package queue

import (
	"context"
	"sync"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

const (
	// maxManagers limits the subqueues. It is more than real installations use, and bounds the effect of made-up
	// names.
	maxManagers = 64
	// maxBytes limits the total size of the names of all events.
	maxBytes = 4 << 20
	// maxNameBytes limits the names of one event. It is above the sum of Kubernetes' own limits.
	maxNameBytes = 1 << 10
	// perManager is how many events of one manager may be sent at once.
	perManager = 4
)

// Event says that an object changed that a manager watches.
type Event struct {
	// Manager is the manager's name in the paths of webhook and listener.
	Manager string
	shared.RemoteEvent
}

// Bytes returns the total length of all names.
func (e Event) Bytes() int {
	return len(e.Manager) + len(e.Watched.Namespace) + len(e.Watched.Name) + len(e.WatchedGVK.Group) + len(e.WatchedGVK.Version) + len(e.WatchedGVK.Kind)
}

// Added is the result of Add.
type Added int

// Values of Added.
const (
	// Queued: the event is new in the queue.
	Queued Added = iota
	// Merged: an equal event was already in the queue.
	Merged
	// Dropped: the queue has no room. The control plane's sweep finds the change later.
	Dropped
)

// Queue holds events. Only one goroutine may call Next. All other methods are safe for concurrent use.
type Queue struct {
	// maxEvents limits the events that wait or are being sent.
	maxEvents int
	// changed has a value if Next should try again.
	changed chan struct{}

	mu        sync.Mutex
	entries   map[Event]*entry
	bytes     int
	subqueues map[string]*subqueue
	// turns holds all subqueues. The first one has the next turn.
	turns  []*subqueue
	closed bool
}

// entry is an event that waits or is being sent.
type entry struct {
	event Event
	// tries counts failed attempts.
	tries int
	// sending is true while the event is being sent. again is true if the object changed in the meantime.
	sending, again bool
}

// New returns a queue for at most maxEvents events.
func New(maxEvents int) *Queue {
	return &Queue{maxEvents: maxEvents, changed: make(chan struct{}, 1), entries: map[Event]*entry{}, subqueues: map[string]*subqueue{}}
}

// Add adds an event. It never blocks.
func (q *Queue) Add(event Event) Added {
	q.mu.Lock()
	defer q.mu.Unlock()
	if known := q.entries[event]; known != nil {
		known.again = known.sending
		return Merged
	}
	if q.closed || event.Bytes() > maxNameBytes || len(q.entries) >= q.maxEvents || q.bytes+event.Bytes() > maxBytes {
		return Dropped
	}
	to := q.subqueues[event.Manager]
	if to == nil {
		if len(q.subqueues) >= maxManagers {
			return Dropped
		}
		to = newSubqueue(event.Manager)
		q.subqueues[event.Manager] = to
		q.turns = append(q.turns, to)
	}
	added := &entry{event: event}
	q.entries[event] = added
	q.bytes += event.Bytes()
	to.waiting = append(to.waiting, added)
	q.signal()
	return Queued
}

// Taken is an event to send. The caller must then call Sent, Drop or Retry.
type Taken struct {
	Event
	// Tries counts failed attempts.
	Tries int
}

// Next waits for an event to send. It returns false if the context has ended, or if the queue is closed and empty.
func (q *Queue) Next(ctx context.Context) (Taken, bool) {
	for {
		if ctx.Err() != nil {
			return Taken{}, false
		}
		taken, wait, more := q.take(time.Now())
		if taken != nil {
			return Taken{Event: taken.event, Tries: taken.tries}, true
		}
		if !more {
			return Taken{}, false
		}
		q.await(ctx, wait)
	}
}

// await waits for a change, for at most wait. A wait of zero means no limit.
func (q *Queue) await(ctx context.Context, wait time.Duration) {
	var over <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-q.changed:
	case <-over:
	case <-ctx.Done():
	}
}

// take takes the first event of the first subqueue that may send. If there is none, it returns how long to wait until
// one may send, or zero if that depends on a change, and whether more events are possible.
func (q *Queue) take(now time.Time) (taken *entry, wait time.Duration, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, candidate := range q.turns {
		until, may := candidate.next(now)
		if may {
			q.turns = append(append(q.turns[:i:i], q.turns[i+1:]...), candidate)
			return candidate.take(), 0, true
		}
		if until > 0 && (wait == 0 || until < wait) {
			wait = until
		}
	}
	return nil, wait, !q.closed || len(q.entries) > 0
}

// Sent records that the listener accepted an event.
func (q *Queue) Sent(event Event) {
	q.settle(event, func(of *subqueue, sent *entry) bool {
		of.recover()
		return sent.again
	})
}

// Drop removes an event that the listener will never accept. It does not count as a failure of the manager.
func (q *Queue) Drop(event Event) {
	q.settle(event, func(of *subqueue, dropped *entry) bool {
		of.recover()
		return dropped.again
	})
}

// Retry records that sending failed. The event and others of its manager are sent after a pause.
func (q *Queue) Retry(event Event, pause Pause) {
	q.settle(event, func(of *subqueue, failed *entry) bool {
		of.fail(time.Now(), pause)
		failed.tries++
		return true
	})
}

// settle ends the sending of an event. The event is queued again if decide returns true.
func (q *Queue) settle(event Event, decide func(*subqueue, *entry) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	settled := q.entries[event]
	if settled == nil || !settled.sending {
		return
	}
	of := q.subqueues[event.Manager]
	of.sending--
	failed := settled.tries
	if decide(of, settled) {
		if settled.tries == failed {
			settled.tries = 0
		}
		settled.sending, settled.again = false, false
		of.waiting = append(of.waiting, settled)
	} else {
		delete(q.entries, event)
		q.bytes -= event.Bytes()
		q.tidy(of)
	}
	q.signal()
}

// tidy removes a subqueue without events.
func (q *Queue) tidy(of *subqueue) {
	if of.sending > 0 || len(of.waiting) > 0 {
		return
	}
	delete(q.subqueues, of.manager)
	for i, each := range q.turns {
		if each == of {
			q.turns = append(q.turns[:i:i], q.turns[i+1:]...)
			return
		}
	}
}

// Wake ends all pauses, because the cause of the failures may be gone.
func (q *Queue) Wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, each := range q.turns {
		each.wake()
	}
	q.signal()
}

// Close makes Add drop further events. Queued events are still sent.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// Len returns the number of events that wait or are being sent.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries)
}

func (q *Queue) signal() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}
