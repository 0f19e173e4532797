// Package queue keeps what the agent has still to report: each object once per manager, however often it changes. The
// events of a manager wait in a queue of their own, so that one that the listener refuses holds up no other.
package queue

import (
	"context"
	"sync"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

const (
	// maxManagers is how many managers have a subqueue: as many as anyone watches for, and not as many as somebody thinks up.
	maxManagers = 64
	// maxBytes is what the names of all events may take, whatever their number.
	maxBytes = 4 << 20
	// maxNameBytes is what the names of one event may take. Kubernetes limits each of them; this is above their sum.
	maxNameBytes = 1 << 10
	// perManager is how many events of a manager are on their way at once.
	perManager = 4
)

// Event is that an object changed which a manager wants to know of.
type Event struct {
	// Manager is in the path of the webhook and of the listener.
	Manager string
	shared.RemoteEvent
}

// Bytes is the length of all names.
func (e Event) Bytes() int {
	return len(e.Manager) + len(e.Watched.Namespace) + len(e.Watched.Name) + len(e.WatchedGVK.Group) + len(e.WatchedGVK.Version) + len(e.WatchedGVK.Kind)
}

// Added is what became of an event.
type Added int

// What becomes of an event.
const (
	// Queued events are reported once.
	Queued Added = iota
	// Merged events are reported with one that waits.
	Merged
	// Dropped events are not reported, as there is no room: the control plane's sweep finds what they were about.
	Dropped
)

// Queue has one taker (Next) and any number of callers of all else.
type Queue struct {
	// maxEvents is how many events wait or are on their way.
	maxEvents int
	// changed has a value where Next is to be tried once more.
	changed chan struct{}

	mu        sync.Mutex
	entries   map[Event]*entry
	bytes     int
	subqueues map[string]*subqueue
	// turns are all subqueues, the one whose turn it is first.
	turns  []*subqueue
	closed bool
}

// entry is an event that waits or is on its way.
type entry struct {
	event Event
	// tries is how often it failed.
	tries int
	// sending is while it is on its way, again where the object changed meanwhile.
	sending, again bool
}

// New makes a queue for so many events.
func New(maxEvents int) *Queue {
	return &Queue{maxEvents: maxEvents, changed: make(chan struct{}, 1), entries: map[Event]*entry{}, subqueues: map[string]*subqueue{}}
}

// Add takes an event. It never waits.
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

// Taken is an event that is to be sent: one of Sent, Drop and Retry must follow.
type Taken struct {
	Event
	// Tries is how often it failed.
	Tries int
}

// Next waits for an event to send. There is none any more where the context has ended, or the queue is closed and empty.
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

// await waits for a change, and no longer than some time where that is not zero.
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

// take takes the first event of the first subqueue that may send. Where there is none, it says how long until there might
// be (zero: until something changes), and whether there will be any.
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

// Sent says that an event arrived.
func (q *Queue) Sent(event Event) {
	q.settle(event, func(of *subqueue, sent *entry) bool {
		of.recover()
		return sent.again
	})
}

// Drop says that sending an event once more cannot help. It is no sign that others fail.
func (q *Queue) Drop(event Event) {
	q.settle(event, func(of *subqueue, dropped *entry) bool {
		of.recover()
		return dropped.again
	})
}

// Retry says that an event did not arrive, and that it and those of the same manager are to be sent after a pause.
func (q *Queue) Retry(event Event, pause Pause) {
	q.settle(event, func(of *subqueue, failed *entry) bool {
		of.fail(time.Now(), pause)
		failed.tries++
		return true
	})
}

// settle ends the sending of an event, which waits once more where decide says so.
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

// tidy forgets a subqueue that has nothing to do.
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

// Wake ends all pauses, as what made events fail may be over.
func (q *Queue) Wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, each := range q.turns {
		each.wake()
	}
	q.signal()
}

// Close lets the queue take no more events. What it has is still sent.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// Len is how many events wait or are on their way.
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
