package manifests

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

func TestDetailsOfAWaitOfAnEarlierReleaseAreIgnored(t *testing.T) {
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.SetHeartbeatDetails(3)
	begin := func(ctx context.Context) (bool, error) {
		return WaitOf(ctx, time.Now()).remembered == WaitDetails{}, nil
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
