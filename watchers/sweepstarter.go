package watchers

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/workflows"
)

// TemporalSweeps starts sweep workflows.
type TemporalSweeps struct {
	Temporal temporal.Client
	// Interval is the resync interval that a new sweep begins with.
	Interval time.Duration
	// Shards is how many sweeps there are. Those above it that an earlier configuration had end by themselves.
	Shards int
}

// EnsureSweeps starts the sweep of every shard that has none.
func (t TemporalSweeps) EnsureSweeps(ctx context.Context) error {
	for shard := range t.Shards {
		options := temporal.StartWorkflowOptions{
			ID:                       kick.SweepWorkflowID(shard),
			TaskQueue:                kick.SweepQueue,
			WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			StaticSummary:            fmt.Sprintf("sweep of shard %d of %d", shard, t.Shards),
		}
		in := workflows.SweepInput{Shard: shard, Shards: t.Shards, Interval: t.Interval}
		if _, err := t.Temporal.ExecuteWorkflow(ctx, options, kick.SweepWorkflow, in); err != nil {
			return fmt.Errorf("start the sweep of shard %d: %w", shard, err)
		}
	}
	return nil
}
