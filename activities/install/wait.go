package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
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
	// attemptLimit bounds one look, so that a slow cluster does not hold a slot for long.
	attemptLimit = 8 * time.Second
	// failedReads is after how many failed reads in a row a wait gives up.
	failedReads = 5

	reasonWaiting = "Waiting"
)

// WaitManifest looks at the module once and returns what it sees when that differs from what was last
// reported: in state, reason or message, or in that the default custom resource is wanted. Otherwise it is a
// benign fault.Pending error with the time of the next look. After 5 failed reads in a row it returns their
// fault. It writes nothing.
func (a *Activities) WaitManifest(ctx context.Context, in WaitInput) (Observed, error) {
	w := waitOf(ctx, a.options.Clock())
	look, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	observed, m, err := a.lookAt(look, in.Ref)
	if err != nil {
		return Observed{}, w.failed(ctx, err)
	}
	if w.worthTelling(observed, in.Reported) {
		return observed, nil
	}
	if m != nil && w.lasts() {
		// What the Manifest says changes with each step, and most steps take a moment, so that its Kyma is told of its
		// state alone. What lasts is worth to be shown there too.
		w.told = a.kickKyma(ctx, m) == nil
	}
	return Observed{}, w.pending(ctx, "the module")
}

// look reads the Manifest and how its module is.
func (a *Activities) look(ctx context.Context, ref kick.Ref) (Observed, error) {
	observed, _, err := a.lookAt(ctx, ref)
	return observed, err
}

// lookAt also returns the Manifest, where it is to be installed still.
func (a *Activities) lookAt(ctx context.Context, ref kick.Ref) (Observed, *v1beta2.Manifest, error) {
	m, err := a.read(ctx, ref)
	if err != nil {
		return Observed{}, nil, err
	}
	if m == nil || !m.DeletionTimestamp.IsZero() {
		return leaving(), nil, nil
	}
	cluster, err := a.reach(ctx, m)
	if err != nil {
		return Observed{}, nil, err
	}
	observed, err := observe(ctx, cluster, m, a.remoteNamespace(m), a.options.Clock(), a.options.StuckWorkloadTimeout)
	return observed, m, err
}

// wait is where one wait stands.
type wait struct {
	// elapsed since the wait began, over all its attempts.
	elapsed time.Duration
	// remembered is what earlier attempts left; told is true once the Kyma was told of what is waited for.
	remembered waitDetails
	told       bool
}

// waitDetails are what one attempt of a wait leaves to the next.
type waitDetails struct {
	// Reads is how many reads failed in a row.
	Reads int `json:"reads"`
	// Told is true once the Kyma was told of what is waited for.
	Told bool `json:"told"`
}

func waitOf(ctx context.Context, now time.Time) wait {
	if !activity.IsActivity(ctx) {
		return wait{}
	}
	w := wait{elapsed: now.Sub(activity.GetInfo(ctx).ScheduledTime)}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &w.remembered); err != nil {
			w.remembered = waitDetails{} // an attempt of an earlier release left something else
		}
	}
	w.told = w.remembered.Told
	return w
}

// worthTelling tells whether what is seen is news. While a state lasts for a short time only, which object
// of many it waits for is none.
func (w wait) worthTelling(seen, reported Observed) bool {
	if reported.Reason == ReasonInstalling && seen.Reason == ReasonResourcesPending && w.elapsed < quick {
		// Most modules are ready by then: a write of the status less for each installation.
		return false
	}
	if seen.Reason == ReasonDeleting || seen.Reason == ReasonResourcesMissing || seen.State != reported.State || seen.Reason != reported.Reason || seen.DefaultCRWanted {
		return true
	}
	if seen.Reason == ReasonWorkloadStuck {
		// Pods go to and fro between several ways to say it.
		return seen.Message != reported.Message && w.elapsed >= stuckPause
	}
	return seen.Message != reported.Message && w.elapsed >= quick
}

// lasts tells whether the wait has become one that people look at, and nobody told the Kyma what for.
func (w wait) lasts() bool { return !w.told && w.elapsed >= quick }

// pending is the error of a look that saw nothing new.
func (w wait) pending(ctx context.Context, what string) error {
	w.remember(ctx, 0)
	return &fault.Error{Kind: fault.Pending, Reason: reasonWaiting, Message: "waiting for " + what, RetryAfter: w.pause()}
}

// pause grows from a second to half a minute.
func (w wait) pause() time.Duration {
	if w.elapsed < quick {
		return quickPause
	}
	return min(max(w.elapsed/10, 2*time.Second), slowPause)
}

// failed is the error of a look that could not read: one more of several, or the last. What cannot succeed
// without a change is told at once.
func (w wait) failed(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	f := fault.Of(err)
	if f.Kind == fault.Rejected || w.remembered.Reads+1 >= failedReads {
		return err
	}
	w.remember(ctx, w.remembered.Reads+1)
	return &fault.Error{
		Kind: fault.Pending, Reason: reasonWaiting, RetryAfter: max(w.pause(), 2*time.Second),
		Message: fmt.Sprintf("could not look (%d of %d): %s", w.remembered.Reads+1, failedReads, f.Message),
	}
}

// remember keeps the number of failed reads, and whether the Kyma was told, for the next attempt, in the server and not
// in the history.
func (w wait) remember(ctx context.Context, reads int) {
	if now := (waitDetails{Reads: reads, Told: w.told}); now != w.remembered && activity.IsActivity(ctx) {
		activity.RecordHeartbeat(ctx, now)
	}
}
