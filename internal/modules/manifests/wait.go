package manifests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const (
	// quick is how long a wait reads every second, and how long a new message for the same state is not reported.
	quick = 20 * time.Second
	// patience is how long a wait does not report which objects a module waits for. Most modules are ready within this
	// time.
	patience = 30 * time.Second
	// quickPause and slowPause are the shortest and the longest pause between two reads.
	quickPause = time.Second
	slowPause  = 30 * time.Second
	// stuckPause is how long a new message about a stuck workload is not reported.
	stuckPause = 5 * time.Minute
	// readLimit is the timeout of one read.
	readLimit = 8 * time.Second
	// attemptLimit is how long after its start an attempt may begin a read. Reads within one attempt cost Temporal
	// nothing.
	attemptLimit = 20 * time.Second
	// longPause is the shortest pause that ends an attempt, so that no attempt runs during the pause.
	longPause = 5 * time.Second
	// failedReads is the number of consecutive failed reads after which a wait gives up.
	failedReads = 5
	// readsAtOnce is how many reads of one Watch run concurrently.
	readsAtOnce = 4

	reasonWaiting = "Waiting"
)

// Found is the result of a read.
type Found int

const (
	// Nothing means that there is no news.
	Nothing Found = iota
	// Fresh means that there is news, which may wait a moment for news of other modules.
	Fresh
	// Pressing means that there is news that ends the wait at once, because somebody has to act on it.
	Pressing
)

// Wait is the progress of the wait for one module.
type Wait struct {
	// Elapsed is the time since the wait began, over all its attempts.
	Elapsed time.Duration
	// failed is the number of consecutive failed reads.
	failed int
}

// WaitDetails is what one attempt of a wait records for the next attempt.
type WaitDetails struct {
	// Reads holds the number of consecutive failed reads for each module.
	Reads []int `json:"reads"`
}

// IsNews reports whether an observed state has to be reported. Shortly after a change of state, a different message
// for the same state does not count.
func (w Wait) IsNews(seen, reported readiness.Observed) bool {
	if reported.Reason == readiness.ReasonInstalling && seen.Reason == readiness.ReasonResourcesPending && w.Elapsed < patience {
		// Most modules are ready by then, so this saves one write of the status per installation.
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
			// The wait is for the same objects. Only the reason differs, which may change with each Event.
			return seen.Message != reported.Message && w.Elapsed >= stuckPause
		}
	}
	return seen.Message != reported.Message && w.Elapsed >= quick
}

// explained returns a message without its reasons, which are in parentheses, and whether it has any.
func explained(o readiness.Observed) (string, bool) {
	said, _, found := strings.Cut(o.Message, " (")
	return said, found && o.Reason == readiness.ReasonResourcesPending
}

// IsLong reports whether the wait lasts so long that the Kyma's status should show it.
func (w Wait) IsLong() bool { return w.Elapsed >= patience }

// Pause returns the pause before the next read. It grows from one second to half a minute.
func (w Wait) Pause() time.Duration {
	if w.Elapsed < quick && w.failed == 0 {
		return quickPause
	}
	return min(max(w.Elapsed/10, 2*time.Second), slowPause)
}

// Watch waits for several modules at once.
type Watch struct {
	Clock func() time.Time
	// For describes what the wait is for, in words.
	For string
	// Since holds when each wait began. Zero means that it began when the activity was scheduled.
	Since []time.Time
	// Gather is how long the wait continues after the first news that is not pressing.
	Gather time.Duration
	// Round, if not nil, is called before each round of reads.
	Round func()
	// Read reads module i. It is called concurrently for several modules.
	Read func(ctx context.Context, i int, w Wait) (Found, error)

	waits    []Wait
	found    []Found
	failures []error
}

// Until reads in rounds until there is news of all modules, pressing news of one, or Gather has passed since the
// first news. It returns the error of each module that cannot be read: after 5 failed reads in a row, or after an
// error that cannot go away. At the end of the attempt, Until's own error is a benign fault.Pending with the time of
// the next read.
func (w *Watch) Until(ctx context.Context) ([]error, error) {
	began := w.Clock()
	before := w.begin(ctx, began)
	last := began.Add(attemptLimit)
	var firstNews time.Time
	for {
		failed, err := w.read(ctx)
		if err != nil {
			return nil, err
		}
		now := w.Clock()
		news := slices.ContainsFunc(w.found, func(f Found) bool { return f != Nothing })
		if news && firstNews.IsZero() {
			firstNews = now
		}
		gathered := news && !now.Before(firstNews.Add(w.Gather))
		if gathered || slices.Contains(w.found, Pressing) || !slices.Contains(w.found, Nothing) {
			return w.failures, nil
		}
		pause := w.pause()
		if news {
			pause = min(pause, firstNews.Add(w.Gather).Sub(now))
		}
		if pause >= longPause || now.Add(pause).After(last) || !rest(ctx, pause) {
			if news {
				return w.failures, nil
			}
			w.remember(ctx)
			return nil, &fault.Error{Kind: fault.Pending, Reason: reasonWaiting, Message: "waiting for " + w.For + failed, RetryAfter: pause}
		}
		for i := range w.waits {
			w.waits[i].Elapsed = before[i] + w.Clock().Sub(began)
		}
	}
}

// begin continues with the records of earlier attempts, and returns how long each wait has lasted.
func (w *Watch) begin(ctx context.Context, now time.Time) []time.Duration {
	w.waits, w.found, w.failures = make([]Wait, len(w.Since)), make([]Found, len(w.Since)), make([]error, len(w.Since))
	before := make([]time.Duration, len(w.Since))
	if !activity.IsActivity(ctx) {
		return before
	}
	var details WaitDetails
	remembered := activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &details) == nil && len(details.Reads) == len(w.waits)
	for i, since := range w.Since {
		if since.IsZero() {
			since = activity.GetInfo(ctx).ScheduledTime
		}
		before[i] = now.Sub(since)
		w.waits[i].Elapsed = before[i]
		if remembered {
			w.waits[i].failed = details.Reads[i]
		}
	}
	return before
}

// read reads all modules once. It returns a text about a failed read, if any. It returns an error only if the wait
// was cancelled.
func (w *Watch) read(ctx context.Context) (string, error) {
	errs := make([]error, len(w.waits))
	if w.Round != nil {
		w.Round()
	}
	var group errgroup.Group
	group.SetLimit(readsAtOnce)
	for i := range w.waits {
		group.Go(func() error {
			limited, cancel := context.WithTimeout(ctx, readLimit)
			defer cancel()
			w.found[i], errs[i] = w.Read(limited, i, w.waits[i])
			return nil
		})
	}
	_ = group.Wait()
	failed := ""
	for i, err := range errs {
		switch wait := &w.waits[i]; {
		case err == nil:
			wait.failed = 0
		case errors.Is(ctx.Err(), context.Canceled):
			return "", err
		default:
			wait.failed++
			w.found[i] = Nothing
			if fault.Of(err).Kind == fault.Rejected || wait.failed >= failedReads {
				w.found[i], w.failures[i] = Pressing, err
			}
			failed = fmt.Sprintf("; could not read (%d of %d): %s", wait.failed, failedReads, fault.Of(err).Message)
		}
	}
	return failed, nil
}

// pause returns the shortest pause of all waits.
func (w *Watch) pause() time.Duration {
	shortest := slowPause
	for _, each := range w.waits {
		shortest = min(shortest, each.Pause())
	}
	return shortest
}

// rest waits for the next read. It returns false if the attempt has to end now because another worker continues.
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

// remember records the numbers of failed reads for the next attempt in a heartbeat, which is not part of the history.
func (w *Watch) remember(ctx context.Context) {
	var details WaitDetails
	failing := false
	for _, each := range w.waits {
		details.Reads = append(details.Reads, each.failed)
		failing = failing || each.failed > 0
	}
	if activity.IsActivity(ctx) && (failing || activity.HasHeartbeatDetails(ctx)) {
		activity.RecordHeartbeat(ctx, details)
	}
}
