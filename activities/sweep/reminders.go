package sweep

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// reminders records for which objects a kick may not have helped. An object is kicked immediately, and again only after
// doubling waits while nothing changes. Otherwise a cluster that allows reads but no writes would cost a reconcile, with
// its workflow history, in every pass for months. If another worker takes over an object, its wait starts again, which
// costs one extra kick.
type reminders struct {
	mu    sync.Mutex
	kicks map[types.UID]reminder
}

// reminder is the last kick of one object, its subject, and the wait before the next kick.
type reminder struct {
	about string
	at    time.Time
	wait  time.Duration
}

// maxReminderWait bounds the doubling.
const maxReminderWait = 24 * time.Hour

// maxReminders bounds the number of recorded objects.
const maxReminders = 10_000

// due reports whether an object should be kicked now about something. If so, it records the kick.
func (r *reminders) due(uid types.UID, about string, now time.Time, interval time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.kicks[uid]
	same := known && last.about == about
	if same && now.Sub(last.at) < last.wait {
		return false
	}
	if r.kicks == nil || len(r.kicks) >= maxReminders && !known {
		r.kicks = map[types.UID]reminder{}
	}
	wait := interval
	if same {
		wait = min(2*last.wait, maxReminderWait)
	}
	r.kicks[uid] = reminder{about: about, at: now, wait: wait}
	return true
}

// forget removes an object that needs no more kicks.
func (r *reminders) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kicks, uid)
}
