package watchers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
)

// The sweeps' workflow tasks come all the time, and must not stand in the way of those of Kymas and Manifests.
func TestEveryShardHasASweepOnTheQueueOfSweeps(t *testing.T) {
	server := &mocks.Client{}
	started := map[string]bool{}
	onTheirQueue := mock.MatchedBy(func(o temporal.StartWorkflowOptions) bool {
		started[o.ID] = true
		return o.TaskQueue == kick.SweepQueue
	})
	server.On("ExecuteWorkflow", mock.Anything, onTheirQueue, kick.SweepWorkflow, mock.AnythingOfType("workflows.SweepInput")).
		Return(&mocks.WorkflowRun{}, nil)
	require.NoError(t, TemporalSweeps{Temporal: server, Interval: time.Minute, Shards: 8}.EnsureSweeps(t.Context()))
	require.Len(t, started, 8)
}
