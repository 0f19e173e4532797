package sweep

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// reminders remembers for which Kymas a kick may not have helped: they are kicked at once,
// and again only after longer and longer waits while it stays the same. A cluster that lets us read but not write would
// else cost a reconcile, with its history, in every pass for months. A worker that is new to a Kyma starts again, which costs
// one kick too many.
type reminders struct {
	mu    sync.Mutex
	kicks map[types.UID]reminder
}

// reminder is the last kick of one Kyma, what it was about, and how long it counts.
type reminder struct {
	about string
	at    time.Time
	wait  time.Duration
}

// maxReminderWait bounds the doubling.
const maxReminderWait = 24 * time.Hour

// maxReminders bounds what is remembered.
const maxReminders = 10_000

// due tells whether a Kyma is to be kicked now about something, and takes it as done.
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

// forget removes a Kyma that needs no kick any more.
func (r *reminders) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kicks, uid)
}
