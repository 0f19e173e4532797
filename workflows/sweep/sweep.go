// Package sweep has the workflow that walks one shard of the fleet once per resync interval. It kicks Kymas that
// differ from their desired state.
package sweep

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/build"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// Input is the input of Workflow.
type Input struct {
	Shard int `json:"shard"`
	// Shards is the number of shards when the sweep was started.
	Shards int `json:"shards"`
	// Interval is the resync interval. Each walk returns the currently configured one.
	Interval time.Duration `json:"interval"`
	// ProbeFrom is where the next walk begins to probe clusters that are marked unreachable. Each walk returns the
	// next value.
	ProbeFrom uint64 `json:"probeFrom,omitempty"`
	// Pass is the number of the next walk.
	Pass int `json:"pass,omitempty"`
	// NextWalk is when the next walk starts. Zero means within one interval, at the shard's offset.
	NextWalk time.Time `json:"nextWalk,omitzero"`
}

// walksPerRun bounds the history of one run of a sweep.
const walksPerRun = 50

// Workflow walks one shard of the fleet once per resync interval. It never fails: it repeats a failed walk. It
// completes only if the number of shards was reduced and its shard no longer exists.
func Workflow(ctx workflow.Context, in Input) error {
	logic.Of(ctx)
	s := &run{in: in, mail: mailbox.New(ctx, mailbox.Pending{}, mailbox.Pending{}), build: build.Of(ctx)}
	return s.run(ctx)
}

// run is one run of Workflow.
type run struct {
	in    Input
	mail  *mailbox.Mailbox
	build string
	walks *sweep.Activities
	// last describes the result of the last walk of this run.
	last string
}

func (s *run) run(ctx workflow.Context) error {
	if s.in.NextWalk.IsZero() {
		turn := s.in.Interval * time.Duration(s.in.Shard) / time.Duration(max(1, s.in.Shards))
		s.in.NextWalk = workflow.Now(ctx).Add(turn)
	}
	for walked := 0; ; walked++ {
		if err := s.rest(ctx); err != nil {
			return err
		}
		if kicked := s.mail.Take(); kicked.Count > 0 {
			// The next run, if any, must walk at once.
			s.in.NextWalk = workflow.Now(ctx)
		}
		if walked >= walksPerRun || s.mail.Forced || s.build != build.Of(ctx) {
			return workflow.NewContinueAsNewError(ctx, kick.SweepWorkflow, s.in)
		}
		removed, err := s.walk(ctx)
		if err != nil || removed {
			return err
		}
	}
}

// show updates the current details.
func (s *run) show(ctx workflow.Context, doing, waitingFor string, since time.Time) {
	workflow.SetCurrentDetails(ctx, "Sweep of Lifecycle Manager: compares a share of all Kymas with their desired state, and wakes the workflows of Kymas that differ.\n\n"+
		view.Now(doing, waitingFor, since)+s.last)
}

// rest waits for the next walk. A kick starts it at once.
func (s *run) rest(ctx workflow.Context) error {
	now := workflow.Now(ctx)
	wait := s.in.NextWalk.Sub(now)
	if wait <= 0 {
		return nil
	}
	s.show(ctx, "", "the next walk at "+s.in.NextWalk.UTC().Format(time.RFC3339), now)
	return attempts.For(ctx, wait, "the next walk", s.mail.Arrived)
}

// walk walks the shard once, and reports whether the shard no longer exists.
func (s *run) walk(ctx workflow.Context) (removed bool, err error) {
	var res sweep.WalkResult
	started := workflow.Now(ctx)
	s.show(ctx, "comparing its share of the fleet with the desired state", "", started)
	err = workflow.ExecuteActivity(attempts.Walking(ctx, s.in.Interval), s.walks.WalkShard, sweep.WalkInput{
		Shard: s.in.Shard, ProbeFrom: s.in.ProbeFrom, Pass: s.in.Pass, RunStarted: workflow.GetInfo(ctx).WorkflowStartTime,
	}).Get(ctx, &res)
	if temporal.IsCanceledError(err) {
		return false, err
	}
	// After a failed walk too: the next pass compares the next part.
	s.in.Pass++
	if err == nil {
		if s.in.Shard >= res.Shards {
			return true, nil
		}
		started, s.in.Interval, s.in.ProbeFrom = res.Started, res.Interval, res.ProbeFrom
		s.last = fmt.Sprintf("Last walk: %d Kymas checked, %d workflows kicked.\n", res.Kymas, res.Kicked)
	}
	s.in.NextWalk = started.Add(s.in.Interval)
	return false, nil
}
