package planning

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// noticeBefore is how long before its upgrade the owner of a cluster is told so.
const noticeBefore = 24 * time.Hour

// Deferred is an upgrade that waits because the Kyma's owner put it off.
type Deferred struct {
	// Until is when it begins.
	Until time.Time
	// Message is for the status. On the last day it says that it is the last.
	Message string
	// Next is when something is to be done: when the last day begins, and at its end.
	Next time.Time
}

// Turn is when it is a Kyma's turn then. What a policy allows ends for all clusters of a stage at the same instant: they are
// spread over the pacing span.
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
