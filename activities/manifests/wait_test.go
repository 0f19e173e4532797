package manifests

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

func TestDetailsOfAWaitOfAnEarlierReleaseAreIgnored(t *testing.T) {
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.SetHeartbeatDetails(3)
	begin := func(ctx context.Context) (bool, error) {
		return WaitOf(ctx, time.Now()).failed == 0, nil
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

// attempt runs one attempt of a wait whose reads have news after so many, and returns how many there were.
func attempt(t *testing.T, newsAfter int, clock func() time.Time, stop chan struct{}) (reads int, err error) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerStopChannel(stop)
	wait := func(ctx context.Context) (bool, error) {
		news, err := Until(ctx, clock, "the test", func(context.Context, Wait) (bool, bool, error) {
			reads++
			return true, reads > newsAfter, nil
		})
		return news, fault.ToTemporal(err)
	}
	env.RegisterActivity(wait)
	_, err = env.ExecuteActivity(wait)
	return reads, err
}

// Each attempt costs Temporal a write or three, a read costs it nothing.
func TestAnAttemptOfAWaitReadsUntilThereIsNews(t *testing.T) {
	reads, err := attempt(t, 2, time.Now, nil)
	require.NoError(t, err)
	require.Equal(t, 3, reads)
}

func TestAnAttemptOfAWaitEndsWhereAnotherHasToContinue(t *testing.T) {
	stopping := make(chan struct{})
	close(stopping)
	long := func() time.Time { return time.Now().Add(time.Hour) }
	now := time.Now()
	slow := func() time.Time {
		now = now.Add(25 * time.Second)
		return now
	}
	for name, c := range map[string]struct {
		clock func() time.Time
		stop  chan struct{}
	}{
		"the worker stops":           {time.Now, stopping},
		"the next read is far away":  {long, nil},
		"the attempt's time is over": {slow, nil},
	} {
		reads, err := attempt(t, 99, c.clock, c.stop)
		require.Equal(t, fault.Pending, fault.FromTemporal(err).Kind, "%s: %v", name, err)
		require.Equal(t, 1, reads, name)
	}
}
