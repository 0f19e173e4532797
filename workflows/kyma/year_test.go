package kyma

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/entity"
)

const (
	day  = 24 * time.Hour
	year = 365
	// mostEvents bounds the length of a history: the length above which an idle run continues as new, plus the events
	// of one busy day. The server ends a run at 51,200 events.
	mostEvents = entity.IdleEvents + 200
	// mostCarried bounds the bytes that a run carries. The server accepts 2 MB.
	mostCarried = 4 << 10
)

// moment is an event at a time since the workflow's start.
type moment struct {
	at      time.Duration
	happens func(env *testsuite.TestWorkflowEnvironment)
}

// kicked returns the moment of a kick.
func kicked(at time.Duration, k kick.Kick) moment {
	return moment{at, func(env *testsuite.TestWorkflowEnvironment) { env.SignalWorkflow(kick.Signal, k) }}
}

// life records the runs of a workflow.
type life struct {
	runs int
	// longest is the number of events of the longest run, total the sum of all runs. Both are estimates from the
	// commands of a run, and are rather too high: each step may be followed by an upsert, and each external event by
	// a workflow task.
	longest, total int
	// carried holds the size of each run's carried state, except for runs that were started from scratch.
	carried []int
}

// Events of history per action, including the following workflow task.
const (
	yearStart         = 6
	yearSignal        = 4
	yearActivity      = 7
	yearLocalActivity = 2
	yearTimer         = 1
	yearFiring        = 4
)

// live runs a workflow through all moments, in as many runs as needed. The next run follows a run that continues as
// new. After a run that has completed, the next moment starts the workflow again, as a kick would.
func live(t *testing.T, w *fixture, moments []moment) life {
	t.Helper()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := Input{Ref: kymaRef}
	l, input, now := life{}, first, time.Duration(0)
	for len(moments) > 0 {
		if input.Carry == nil {
			now = moments[0].at
		}
		env := environment(t, w)
		env.SetStartTime(began.Add(now))
		events, happened := 0, 0
		add := func(more int) {
			events += more
			env.SetCurrentHistoryLength(events)
		}
		add(yearStart)
		env.SetOnActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) { add(yearActivity) })
		env.SetOnActivityCanceledListener(func(*activity.Info) { add(yearActivity) })
		env.SetOnLocalActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) { add(yearLocalActivity) })
		env.SetOnTimerScheduledListener(func(string, time.Duration) { add(yearTimer) })
		env.SetOnTimerFiredListener(func(string) { add(yearFiring) })
		env.SetOnTimerCanceledListener(func(string) { add(yearTimer) })
		// Register one callback after the other, because the test environment cannot hold thousands.
		var await func(from time.Duration)
		await = func(from time.Duration) {
			if happened == len(moments) {
				return
			}
			m := moments[happened]
			env.RegisterDelayedCallback(func() {
				happened++
				add(yearSignal)
				m.happens(env)
				await(m.at)
			}, m.at-from)
		}
		await(now)
		env.ExecuteWorkflow(Workflow, input)
		l.runs, l.longest, l.total = l.runs+1, max(l.longest, events), l.total+events
		now, moments = env.Now().Sub(began), moments[happened:]

		var again *workflow.ContinueAsNewError
		if err := env.GetWorkflowError(); !errors.As(err, &again) {
			require.NoError(t, err)
			input = first
			continue
		}
		input = nextInput(t, again)
		encoded, err := json.Marshal(input)
		require.NoError(t, err)
		l.carried = append(l.carried, len(encoded))
	}
	return l
}

// nextInput returns the input of the next run.
func nextInput(t *testing.T, again *workflow.ContinueAsNewError) Input {
	t.Helper()
	var next Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	return next
}

// bounded fails if a history is too long or the carried state has grown.
func (l life) bounded(t *testing.T) {
	t.Helper()
	t.Logf("%d runs, %d events in all, the longest run %d; carried %d bytes at most", l.runs, l.total, l.longest, slices.Max(append(l.carried, 0)))
	require.LessOrEqual(t, l.longest, mostEvents)
	if len(l.carried) == 0 {
		return
	}
	require.LessOrEqual(t, slices.Max(l.carried), mostCarried)
	half := (len(l.carried) + 1) / 2
	require.LessOrEqual(t, slices.Max(append(l.carried[half:], 0)), slices.Max(l.carried[:half])+100, "it grows")
}

// upgrades is a state that changes each day, and the versions that were read.
type upgrades struct {
	released, seen int
	missed         []string
}

// check reads the live objects as the workflow does.
func (u *upgrades) check() string {
	u.seen = u.released
	return fmt.Sprintf("1.%d.0", u.released)
}

// daily returns the moments of a Kyma's year. Each day a new version is released and has its turn an hour later, its
// module is upgraded and becomes Ready, and the sweep finds a change that the watchers have missed.
func (u *upgrades) daily() []moment {
	moments := []moment{kicked(0, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Name: kymaRef.Name, ResourceVersion: "1", Urgent: true})}
	for d := range year {
		at, version := time.Duration(d)*day+8*time.Hour, fmt.Sprint(100+10*d)
		turn := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(d) * day)
		manifest := func(after time.Duration, version string, urgent bool) moment {
			return kicked(at+after, kick.Kick{Reason: "Manifest changed", Kind: "Manifest", Name: fmt.Sprintf("module-%d", d), ResourceVersion: version, Urgent: urgent})
		}
		moments = append(moments,
			moment{at, func(env *testsuite.TestWorkflowEnvironment) {
				u.released++
				env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "ModuleReleaseMeta changed", Kind: "ModuleReleaseMeta", Name: "module", ResourceVersion: version, NotBefore: &turn})
			}},
			manifest(2*time.Hour, version+"1", false), manifest(2*time.Hour+time.Second, version+"2", true),
			kicked(at+4*time.Hour, kick.Kick{Reason: "the inputs differ from those last reconciled"}),
			moment{at + 5*time.Hour, func(*testsuite.TestWorkflowEnvironment) {
				if u.seen != u.released {
					u.missed = append(u.missed, fmt.Sprintf("day %d", d))
				}
			}})
	}
	return moments
}

// ended removes the Kyma after its year.
func ended(w *fixture) moment {
	return moment{year * day, func(env *testsuite.TestWorkflowEnvironment) {
		w.apply = func(context.Context, int) (install.ApplyResult, error) {
			return install.ApplyResult{Outcome: manifests.OutcomeGone}, nil
		}
		kickModule(env, kick.Kick{Reason: "Manifest is gone", Urgent: true})
		w.report = func(int, status.ReportInput) (status.ReportResult, error) {
			return status.ReportResult{Outcome: status.OutcomeGone}, nil
		}
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Kyma is gone", Urgent: true})
	}}
}

func TestAYearOfDailyUpgradesKeepsTheHistoryOfAKymaShort(t *testing.T) {
	for name, is := range map[string]struct {
		state shared.State
		// module is installed with each upgrade. ready returns its state afterwards.
		module bool
		ready  func(install.Followed) (readiness.Observed, error)
		// result changes the result of a reconcile.
		result func(now time.Time, res *resolve.Result)
	}{
		"each of them becomes Ready":          {state: shared.StateReady},
		"each is installed and Ready at once": {state: shared.StateReady, module: true},
		// A module that never becomes ready is followed all year. Each hour the wait starts again.
		"the module never becomes Ready": {state: shared.StateError, module: true, ready: func(install.Followed) (readiness.Observed, error) {
			return readiness.Observed{}, &fault.Error{Kind: fault.Pending, Message: "not ready", RetryAfter: 45 * time.Minute}
		}},
		"each waits for a weekly window": {state: shared.StateReady, result: func(now time.Time, res *resolve.Result) {
			res.NextReconcile, res.NextReconcileFor = nextWeek(now), "the maintenance window"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, u := quietFixture(), &upgrades{}
			w.resolve = func(int) (resolve.Result, error) {
				version := u.check()
				res, err := resolved()
				res.InputsDigest, res.Updated = "inputs-"+version, []string{"module"}
				res.Wrote = []desired.Seen{{Kind: "Manifest", Namespace: "kcp-system", Name: "module", ResourceVersion: fmt.Sprint(100 + 10*u.released + 5)}}
				if is.module {
					res.Begin = []kick.Ref{manifestRef}
				}
				if is.result != nil {
					is.result(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(u.released)*day), &res)
				}
				return res, err
			}
			w.report = func(int, status.ReportInput) (status.ReportResult, error) {
				res, err := reported(is.state)
				res.Modules = []status.Module{{Name: "module", Version: fmt.Sprintf("1.%d.0", u.seen), State: is.state, Message: string(is.state)}}
				return res, err
			}
			if is.ready != nil {
				w.wait = func(_ int, in install.Followed) (readiness.Observed, error) { return is.ready(in) }
			}
			l := live(t, w, append(u.daily(), ended(w)))
			l.bounded(t)
			require.Empty(t, u.missed, "upgrades that no reconcile has read by noon")
			require.Greater(t, l.runs, 5)
			require.LessOrEqual(t, l.runs, l.total/entity.IdleEvents+1, "it continues as new more often than necessary")
		})
	}
}

// nextWeek returns the next Saturday, 20:00.
func nextWeek(now time.Time) time.Time {
	at := now.Truncate(day).Add(20 * time.Hour)
	for at.Weekday() != time.Saturday || !at.After(now) {
		at = at.Add(day)
	}
	return at
}
