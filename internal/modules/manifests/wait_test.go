package manifests

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestDetailsOfAWaitOfAnEarlierReleaseAreIgnored(t *testing.T) {
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.SetHeartbeatDetails(3)
	begin := func(ctx context.Context) (bool, error) {
		w := &Watch{Since: make([]time.Time, 1)}
		w.begin(ctx, time.Now())
		return w.waits[0].failed == 0, nil
	}
	env.RegisterActivity(begin)
	value, err := env.ExecuteActivity(begin)
	require.NoError(t, err)
	var empty bool
	require.NoError(t, value.Get(&empty))
	require.True(t, empty)
}

func TestWhyAWorkloadIsStuckIsReportedRarely(t *testing.T) {
	reported := readiness.Observed{State: shared.StateError, Reason: readiness.ReasonWorkloadStuck, Message: "one"}
	seen := reported
	seen.Message = "two"
	require.False(t, Wait{Elapsed: time.Minute}.IsNews(seen, reported), "pods alternate between reasons")
	require.True(t, Wait{Elapsed: 6 * time.Minute}.IsNews(seen, reported))

	pending := func(message string) readiness.Observed {
		return readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonResourcesPending, Message: message}
	}
	const unexplained, first, second = "waiting for Claim a to become ready", "waiting for Claim a (Failed: 1) to become ready", "waiting for Claim a (Failed: 2) to become ready"
	require.True(t, Wait{Elapsed: time.Minute}.IsNews(pending(first), pending(unexplained)), "the first reason is news")
	require.False(t, Wait{Elapsed: time.Minute}.IsNews(pending(second), pending(first)), "each Event may differ")
	require.True(t, Wait{Elapsed: 6 * time.Minute}.IsNews(pending(second), pending(first)))
}

// attempt runs one attempt of a wait for several modules, and returns how often it read the first one.
func attempt(t *testing.T, w *Watch, stop chan struct{}) (reads int, err error) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerStopChannel(stop)
	read := w.Read
	w.Read = func(ctx context.Context, i int, each Wait) (Found, error) {
		if i == 0 {
			reads++
		}
		return read(ctx, i, each)
	}
	wait := func(ctx context.Context) error {
		_, err := w.Until(ctx)
		return fault.ToTemporal(err)
	}
	env.RegisterActivity(wait)
	_, err = env.ExecuteActivity(wait)
	return reads, err
}

// after returns a function that reports news after a number of reads.
func after(reads int, news Found) func() Found {
	done := 0
	return func() Found {
		done++
		if done > reads {
			return news
		}
		return Nothing
	}
}

// Each attempt costs Temporal one to three writes. A read costs it nothing.
func TestAnAttemptOfAWaitReadsUntilThereIsNewsOfAll(t *testing.T) {
	never := func() Found { return Nothing }
	for name, c := range map[string]struct {
		of     []func() Found
		gather time.Duration
		reads  int
	}{
		"of one":                                {[]func() Found{after(2, Fresh)}, time.Hour, 3},
		"of both":                               {[]func() Found{after(0, Fresh), after(2, Fresh)}, time.Hour, 3},
		"of one, and the other takes too long":  {[]func() Found{after(1, Fresh), never}, time.Second, 3},
		"of one, and somebody has to act on it": {[]func() Found{after(1, Pressing), never}, time.Hour, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &Watch{Clock: time.Now, Since: make([]time.Time, len(c.of)), Gather: c.gather}
			w.Read = func(_ context.Context, i int, _ Wait) (Found, error) { return c.of[i](), nil }
			reads, err := attempt(t, w, nil)
			require.NoError(t, err)
			require.Equal(t, c.reads, reads)
		})
	}
}

func TestAFailedReadDoesNotHoldUpOtherModules(t *testing.T) {
	refused := fault.New(fault.Rejected, "Forbidden", "no")
	w := &Watch{Clock: time.Now, Since: make([]time.Time, 2)}
	w.Read = func(_ context.Context, i int, _ Wait) (Found, error) {
		if i == 0 {
			return Nothing, refused
		}
		return Nothing, nil
	}
	failures, err := w.Until(context.Background())
	require.NoError(t, err)
	require.Equal(t, []error{refused, nil}, failures)
}

func TestAnAttemptOfAWaitEndsIfAnotherHasToContinue(t *testing.T) {
	stopping := make(chan struct{})
	close(stopping)
	now := time.Now()
	slow := func() time.Time {
		now = now.Add(25 * time.Second)
		return now
	}
	for name, c := range map[string]struct {
		clock func() time.Time
		stop  chan struct{}
		since time.Time
	}{
		"the worker stops":           {time.Now, stopping, time.Time{}},
		"the next read is far away":  {time.Now, nil, time.Now().Add(-time.Hour)},
		"the attempt's time is over": {slow, nil, time.Time{}},
	} {
		w := &Watch{Clock: c.clock, Since: []time.Time{c.since}, Read: func(context.Context, int, Wait) (Found, error) { return Nothing, nil }}
		reads, err := attempt(t, w, c.stop)
		require.Equal(t, fault.Pending, fault.FromTemporal(err).Kind, "%s: %v", name, err)
		require.Equal(t, 1, reads, name)
	}
}
