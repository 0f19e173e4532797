// Package pace decides, purely, when a workflow acts: Pace when on kicks, Backoff when it retries a failed step, and Spread
// how far apart workflows act that would otherwise all act at once.
package pace

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

const (
	// minWait is how long a run waits after a reconcile before it acts on the next ordinary kick.
	minWait = time.Second
	// maxWait bounds the doubling of that wait while kicks keep coming.
	maxWait = 30 * time.Second
)

// Pace decides when kicks are acted on (docs/design/workflows-and-signals.md#pace): the first at once; after a
// reconcile the run waits a second, doubling to 30 while kicks keep coming; urgent kicks do not wait, and make none
// wait longer.
type Pace struct {
	// Wait is the wait after the last reconcile; zero before the first.
	Wait time.Duration `json:"wait,omitempty"`
	// Until is when the wait after the last reconcile ends.
	Until time.Time `json:"until,omitzero"`
}

// Due is when the pending kicks are to be acted on, and whether there are any.
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

// IsOver reports whether the last reconcile was so long ago that it makes no kick wait.
func (p Pace) IsOver(now time.Time) bool { return now.Sub(p.Until) >= p.Wait }

// After returns the pace after a reconcile that started and ended at the given times. An urgent one is somebody's wish or
// a module that settled, and does not show that ordinary kicks come too fast.
func (p Pace) After(started, ended time.Time, urgent bool) Pace {
	wait := minWait
	// A reconcile that started right when the wait was over was caused by kicks that had come in meanwhile.
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
	// unreachableAttempts is after how many attempts, some two minutes, an unreachable cluster is handed over to the
	// sweep's probe: months of absence must write no history, and one that began in the middle of an installation less
	// than 200 events.
	unreachableAttempts = 4
)

// Backoff tells how long to wait before a failed step is retried, and false where only a change or the sweep can help. A
// fault that asks for a slow retry has the longest wait from the start. attempt counts from 1; id spreads the fleet, so
// that clusters that failed together are not retried together.
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
