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
}
