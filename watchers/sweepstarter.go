package watchers

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
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

// Unknown tells whether Temporal knows nothing of the first shard's sweep, open or closed.
func (t TemporalSweeps) Unknown(ctx context.Context) (bool, error) {
	_, err := t.Temporal.DescribeWorkflowExecution(ctx, kick.SweepWorkflowID(0), "")
	var unknown *serviceerror.NotFound
	if errors.As(err, &unknown) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe the sweep of shard 0: %w", err)
	}
	return false, nil
}
