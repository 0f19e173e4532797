package manifests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
)

const (
	// quick is for how long a wait looks every second, and for how long the words of a state that stays the
	// same are not worth a report.
	quick = 20 * time.Second
	// quickPause and slowPause are the shortest and the longest pause between two looks.
	quickPause = time.Second
	slowPause  = 30 * time.Second
	// stuckPause is for how long other words of a workload that is stuck are not worth a report.
	stuckPause = 5 * time.Minute
	// AttemptLimit bounds one look, so that a slow cluster does not hold a slot for long.
	AttemptLimit = 8 * time.Second
	// failedReads is after how many failed reads in a row a wait gives up.
	failedReads = 5

	reasonWaiting = "Waiting"
)

// Wait is where one wait stands.
type Wait struct {
	// elapsed since the wait began, over all its attempts.
	Elapsed time.Duration
	// remembered is what earlier attempts left; told is true once the Kyma was told of what is waited for.
	remembered WaitDetails
	Notified   bool
}

// WaitDetails are what one attempt of a wait leaves to the next.
type WaitDetails struct {
	// Reads is how many reads failed in a row.
	Reads int `json:"reads"`
	// Told is true once the Kyma was told of what is waited for.
	Told bool `json:"told"`
}

func WaitOf(ctx context.Context, now time.Time) Wait {
	if !activity.IsActivity(ctx) {
		return Wait{}
	}
	w := Wait{Elapsed: now.Sub(activity.GetInfo(ctx).ScheduledTime)}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &w.remembered); err != nil {
			w.remembered = WaitDetails{} // an attempt of an earlier release left something else
		}
	}
	w.Notified = w.remembered.Told
	return w
}

// IsNews tells whether what is seen is news. While a state lasts for a short time only, which object
// of many it waits for is none.
func (w Wait) IsNews(seen, reported readiness.Observed) bool {
	if reported.Reason == readiness.ReasonInstalling && seen.Reason == readiness.ReasonResourcesPending && w.Elapsed < quick {
		// Most modules are ready by then: a write of the status less for each installation.
		return false
	}
	if seen.Reason == readiness.ReasonDeleting || seen.Reason == readiness.ReasonResourcesMissing || seen.State != reported.State || seen.Reason != reported.Reason || seen.DefaultCRWanted {
		return true
	}
	if seen.Reason == readiness.ReasonWorkloadStuck {
		// Pods go to and fro between several ways to say it.
		return seen.Message != reported.Message && w.Elapsed >= stuckPause
	}
	return seen.Message != reported.Message && w.Elapsed >= quick
}

// IsLong tells whether the wait has become one that people look at, and nobody told the Kyma what for.
func (w Wait) IsLong() bool { return !w.Notified && w.Elapsed >= quick }

// Pending is the error of a look that saw nothing new.
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

// Failed is the error of a look that could not read: one more of several, or the last. What cannot succeed
// without a change is told at once.
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
		Message: fmt.Sprintf("could not look (%d of %d): %s", w.remembered.Reads+1, failedReads, f.Message),
	}
}

// remember keeps the number of failed reads, and whether the Kyma was told, for the next attempt, in the server and not
// in the history.
func (w Wait) remember(ctx context.Context, reads int) {
	if now := (WaitDetails{Reads: reads, Told: w.Notified}); now != w.remembered && activity.IsActivity(ctx) {
		activity.RecordHeartbeat(ctx, now)
	}
}
