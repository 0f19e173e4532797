package pace

import (
	"hash/fnv"
	"time"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
)

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
	return wait + Spread(id, wait/4), true
}

// Spread is a share of the given span that depends on the id alone.
func Spread(id string, span time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return time.Duration(int64(span) * int64(h.Sum32()%1000) / 1000)
}
