package watchers

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/workflows"
)

// The leader asks for every sweep every few minutes: one that runs goes on where it is, and one that somebody ended
// is followed by another.
func TestASweepThatRunsIsLeftRunningAndOneThatEndedIsStarted(t *testing.T) {
	server := &mocks.Client{}
	asked := map[string]workflows.SweepInput{}
	server.On("ExecuteWorkflow", mock.Anything, mock.Anything, kick.SweepWorkflow, mock.Anything).
		Run(func(args mock.Arguments) {
			o, ok := args.Get(1).(temporal.StartWorkflowOptions)
			require.True(t, ok)
			require.Equal(t, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, o.WorkflowIDConflictPolicy)
			require.Equal(t, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, o.WorkflowIDReusePolicy)
			require.False(t, o.WorkflowExecutionErrorWhenAlreadyStarted)
			require.NotEmpty(t, o.StaticSummary)
			asked[o.ID], ok = args.Get(3).(workflows.SweepInput)
			require.True(t, ok)
		}).Return(&mocks.WorkflowRun{}, nil)
	require.NoError(t, TemporalSweeps{Temporal: server, Interval: time.Minute, Shards: 8}.EnsureSweeps(t.Context()))
	require.Equal(t, workflows.SweepInput{Shard: 7, Interval: time.Minute, Shards: 8}, asked["sweep/07"])

	down := &mocks.Client{}
	down.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil, errors.New("down"))
	require.ErrorContains(t, TemporalSweeps{Temporal: down, Interval: time.Minute, Shards: 8}.EnsureSweeps(t.Context()), "down")
}
