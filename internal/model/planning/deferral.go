package planning

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// noticeBefore is how long before a deferred upgrade the owner of the cluster is notified.
const noticeBefore = 24 * time.Hour

// Deferred is an upgrade that waits because the Kyma's owner deferred it.
type Deferred struct {
	// Until is when the upgrade begins.
	Until time.Time
	// Message is for the status. On the last day it says that the upgrade begins within a day.
	Message string
	// Next is the time of the next reconcile: the beginning of the last day, then its end.
	Next time.Time
}

// Turn returns when a Kyma gets its turn after Next. The maximum deferral of a policy ends for all clusters of a stage
// at the same instant, so Turn spreads them over the pacing span.
func (d Deferred) Turn(kyma types.UID, span time.Duration) time.Time {
	return d.Next.Add(desired.PacingDelay(kyma, "deferral "+d.Next.UTC().Format(time.RFC3339), span))
}

func newDeferred(version string, until, now time.Time) *Deferred {
	d := &Deferred{Until: until, Next: until.Add(-noticeBefore)}
	d.Message = fmt.Sprintf("the upgrade to version %s is put off until %s", version, until.UTC().Format(time.RFC3339))
	if !now.Before(d.Next) {
		d.Next = until
		d.Message += ": it begins within a day"
	}
	return d
}
