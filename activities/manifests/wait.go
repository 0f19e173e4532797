package manifests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
)

const (
	// quick is for how long a wait reads every second, and for how long a new message for the same state is not reported.
	quick = 20 * time.Second
	// quickPause and slowPause are the shortest and the longest pause between two reads.
	quickPause = time.Second
	slowPause  = 30 * time.Second
	// stuckPause is for how long a new message about a stuck workload is not reported.
	stuckPause = 5 * time.Minute
	// AttemptLimit limits one read, so that a slow cluster does not hold a slot for long.
	AttemptLimit = 8 * time.Second
	// failedReads is after how many failed reads in a row a wait gives up.
	failedReads = 5

	reasonWaiting = "Waiting"
)

// Wait is the progress of one wait.
type Wait struct {
	// Elapsed since the wait began, over all its attempts.
	Elapsed time.Duration
	// remembered is what earlier attempts recorded.
	remembered WaitDetails
}

// WaitDetails are what one attempt of a wait records for the next.
type WaitDetails struct {
	// Reads is how many reads failed in a row.
	Reads int `json:"reads"`
}

// WaitOf is the wait of this activity, with what its earlier attempts recorded.
func WaitOf(ctx context.Context, now time.Time) Wait {
	if !activity.IsActivity(ctx) {
		return Wait{}
	}
	w := Wait{Elapsed: now.Sub(activity.GetInfo(ctx).ScheduledTime)}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &w.remembered); err != nil {
			w.remembered = WaitDetails{}
		}
	}
	return w
}

// IsNews tells whether what was observed is to be reported. In the first seconds of a state, which of many objects it
// waits for is not.
func (w Wait) IsNews(seen, reported readiness.Observed) bool {
	if reported.Reason == readiness.ReasonInstalling && seen.Reason == readiness.ReasonResourcesPending && w.Elapsed < quick {
		// Most modules are ready by then: this saves one write of the status for each installation.
		return false
	}
	if seen.Reason == readiness.ReasonDeleting || seen.Reason == readiness.ReasonResourcesMissing ||
		seen.State != reported.State || seen.Reason != reported.Reason || seen.DefaultCRWanted {
		return true
	}
	if seen.Reason == readiness.ReasonWorkloadStuck {
		// Pods alternate between several reasons.
		return seen.Message != reported.Message && w.Elapsed >= stuckPause
	}
	if said, isSaid := explained(seen); isSaid {
		if before, wasSaid := explained(reported); wasSaid && said == before {
			// The same objects are waited for, and why may change with each Event.
			return seen.Message != reported.Message && w.Elapsed >= stuckPause
		}
	}
	return seen.Message != reported.Message && w.Elapsed >= quick
}

// explained returns what a message says without the reasons, which are in parentheses, and whether there are any.
func explained(o readiness.Observed) (string, bool) {
	said, _, found := strings.Cut(o.Message, " (")
	return said, found && o.Reason == readiness.ReasonResourcesPending
}

// IsLong reports whether the wait lasts so long that the Kyma's status should show it.
func (w Wait) IsLong() bool { return w.Elapsed >= quick }

// Pending is the error of a read that found nothing new.
func (w Wait) Pending(ctx context.Context, what string) error {
	w.remember(ctx, 0)
	return &fault.Error{Kind: fault.Pending, Reason: reasonWaiting, Message: "waiting for " + what, RetryAfter: w.Pause()}
}

// Pause grows from a second to half a minute.
func (w Wait) Pause() time.Duration {
	if w.Elapsed < quick {
		return quickPause
	}
	return min(max(w.Elapsed/10, 2*time.Second), slowPause)
}

// Failed is the error of a read that failed. The wait goes on until several reads in a row failed, or at once ends where
// they cannot succeed without a change.
func (w Wait) Failed(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	f := fault.Of(err)
	if f.Kind == fault.Rejected || w.remembered.Reads+1 >= failedReads {
		return err
	}
	w.remember(ctx, w.remembered.Reads+1)
	return &fault.Error{
		Kind: fault.Pending, Reason: reasonWaiting, RetryAfter: max(w.Pause(), 2*time.Second),
		Message: fmt.Sprintf("could not read (%d of %d): %s", w.remembered.Reads+1, failedReads, f.Message),
	}
}

// remember records the number of failed reads for the next attempt: in a heartbeat, which is not in the history.
func (w Wait) remember(ctx context.Context, reads int) {
	if now := (WaitDetails{Reads: reads}); now != w.remembered && activity.IsActivity(ctx) {
		activity.RecordHeartbeat(ctx, now)
	}
}
