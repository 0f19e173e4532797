// Package pace decides when a workflow acts. Pace decides when to act on kicks, Backoff when to retry a failed step.
// All functions are pure.
package pace

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

const (
	// minWait is how long a run waits after a reconcile before it acts on the next non-urgent kick.
	minWait = time.Second
	// maxWait bounds the doubling of that wait while kicks keep coming.
	maxWait = 30 * time.Second
)

// Pace is the rate limit for kicks (docs/design/workflows-and-signals.md#pace). A run acts on the first kick at once.
// After a reconcile it waits a second, doubling to 30 s while kicks keep coming. Urgent kicks do not wait, and do not
// make other kicks wait longer.
type Pace struct {
	// Wait is the wait after the last reconcile; zero before the first.
	Wait time.Duration `json:"wait,omitempty"`
	// Until is when the wait after the last reconcile ends.
	Until time.Time `json:"until,omitzero"`
}

// Due returns when to act on the pending kicks, and whether there are any.
func (p Pace) Due(now time.Time, pending mailbox.Pending) (time.Time, bool) {
	switch {
	case pending.Count == 0:
		return time.Time{}, false
	case pending.Urgent:
		return now, true
	case pending.NotBefore.After(p.Until):
		return pending.NotBefore, true
	case p.Until.After(now):
		return p.Until, true
	default:
		return now, true
	}
}

// IsOver reports whether the last reconcile is so long ago that no kick has to wait.
func (p Pace) IsOver(now time.Time) bool { return now.Sub(p.Until) >= p.Wait }

// After returns the pace after a reconcile. An urgent reconcile comes from a user's request or a module that settled.
// It does not show that ordinary kicks come too fast.
func (p Pace) After(started, ended time.Time, urgent bool) Pace {
	wait := minWait
	// Kicks that arrived during the wait caused a reconcile that started right after it.
	if !p.IsOver(started) {
		wait = p.Wait
		if !urgent {
			wait = min(2*p.Wait, maxWait)
		}
	}
	return Pace{Wait: wait, Until: ended.Add(wait)}
}

const (
	minBackoff = 5 * time.Second
	maxBackoff = 15 * time.Minute
	// unreachableAttempts is the number of attempts, over about two minutes, after which a run leaves an unreachable
	// cluster to the sweep's probe. Months of absence must write no history, and an absence that began during an
	// installation must write less than 200 events.
	unreachableAttempts = 4
)

// Backoff returns how long to wait before retrying a failed step. It returns false if only a change or the sweep can
// help. A fault with SlowRetry gets the longest wait from the start. attempt counts from 1. id spreads the retries of
// clusters that failed together.
func Backoff(f fault.Fault, attempt int, id string) (time.Duration, bool) {
	switch f.Kind {
	case fault.Rejected:
		return 0, false
	case fault.Unreachable:
		if attempt > unreachableAttempts {
			return 0, false
		}
	case fault.Transient, fault.Pending:
	}
	wait := maxBackoff
	if shift := attempt - 1; shift < 16 && !f.SlowRetry {
		wait = min(minBackoff<<max(shift, 0), maxBackoff)
	}
	return wait + spread.Delay(wait/4, id), true
}
