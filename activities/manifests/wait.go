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
	// readLimit limits one read.
	readLimit = 8 * time.Second
	// attemptLimit is when the last read of an attempt begins. Reads within one attempt cost Temporal nothing.
	attemptLimit = 20 * time.Second
	// longPause is a pause during which no attempt runs.
	longPause = 5 * time.Second
	// failedReads is after how many failed reads in a row a wait gives up.
	failedReads = 5

	reasonWaiting = "Waiting"
)

// Wait is the progress of one wait.
type Wait struct {
	// Elapsed since the wait began, over all its attempts.
	Elapsed time.Duration
	// failed is how many reads failed in a row, and remembered what earlier attempts recorded of it.
	failed, remembered int
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
	var details WaitDetails
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &details) == nil {
		w.failed, w.remembered = details.Reads, details.Reads
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

// Pause grows from a second to half a minute.
func (w Wait) Pause() time.Duration {
	if w.Elapsed < quick && w.failed == 0 {
		return quickPause
	}
	return min(max(w.Elapsed/10, 2*time.Second), slowPause)
}

// Until reads again and again until there is news, an error that cannot go away, or the end of this attempt. Then its error is a
// benign fault.Pending with the time of the next read. After 5 failed reads in a row it returns their fault. What is
// what it waits for.
func Until[R any](ctx context.Context, clock func() time.Time, what string, read func(context.Context, Wait) (R, bool, error)) (R, error) {
	began := clock()
	w := WaitOf(ctx, began)
	before, last := w.Elapsed, began.Add(attemptLimit)
	for {
		limited, cancel := context.WithTimeout(ctx, readLimit)
		result, news, err := read(limited, w)
		cancel()
		failure := ""
		switch {
		case err != nil && !w.mayReadAgain(ctx, err):
			return result, err
		case err != nil:
			failure = fmt.Sprintf("; could not read (%d of %d): %s", w.failed, failedReads, fault.Of(err).Message)
		case news:
			return result, nil
		default:
			w.failed = 0
		}
		pause := w.Pause()
		if pause >= longPause || clock().Add(pause).After(last) || !rest(ctx, pause) {
			w.remember(ctx)
			return result, &fault.Error{Kind: fault.Pending, Reason: reasonWaiting, Message: "waiting for " + what + failure, RetryAfter: pause}
		}
		w.Elapsed = before + clock().Sub(began)
	}
}

// rest waits for the next read. It returns false if the attempt is to end now: another worker continues.
func rest(ctx context.Context, pause time.Duration) bool {
	if !activity.IsActivity(ctx) {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-activity.GetWorkerStopChannel(ctx):
	case <-ctx.Done():
	}
	return false
}

// mayReadAgain counts a failed read and reports whether the wait goes on. It ends at once where reads cannot succeed without a
// change.
func (w *Wait) mayReadAgain(ctx context.Context, err error) bool {
	w.failed++
	return !errors.Is(ctx.Err(), context.Canceled) && fault.Of(err).Kind != fault.Rejected && w.failed < failedReads
}

// remember records the number of failed reads for the next attempt: in a heartbeat, which is not in the history.
func (w *Wait) remember(ctx context.Context) {
	if w.failed != w.remembered && activity.IsActivity(ctx) {
		activity.RecordHeartbeat(ctx, WaitDetails{Reads: w.failed})
	}
}
