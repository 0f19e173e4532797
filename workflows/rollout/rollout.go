// Package rollout has Workflow, which takes one ModuleRollout from its first stage to its end. Each of its steps is one
// activity, which reads the truth, decides and writes the rollout's status; between them it sleeps until the next deadline or
// a kick. It holds nothing that is not in that status: begun anew, it goes on where the status says.
package rollout

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/entity"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/pace"
)

// Input is the input of Workflow. Starters set Ref only (kick.Start).
type Input struct {
	Ref   kick.Ref `json:"ref"`
	Carry *Carry   `json:"carry,omitempty"`
}

// Carry is what a rollout's workflow carries from run to run. Fields are only ever added: the previous release must be able
// to read it.
type Carry struct {
	Pending mailbox.Pending `json:"pending,omitzero"`
	Later   mailbox.Pending `json:"later,omitzero"`
	// Attempt counts failed steps since the last one that succeeded.
	Attempt int `json:"attempt,omitempty"`
	// StepAt is when to take the next step without a kick: a deadline of the rollout, or another attempt of what failed;
	// zero means by a kick only.
	StepAt time.Time `json:"stepAt,omitzero"`
	// NotBefore is when the next step may be taken at the earliest.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Fault is the last fault, Last what the last step found.
	Fault fault.Fault `json:"fault,omitzero"`
	Last  advance.Out `json:"last,omitzero"`
}

// Result answers the evaluate update.
type Result struct {
	Phase    string `json:"phase"`
	Progress string `json:"progress,omitempty"`
	WaitsFor string `json:"waitsFor,omitempty"`
	// Completed is false when the step did not end within the update's 30 seconds; the rest is then what was known last.
	Completed bool `json:"completed"`
}

const (
	// minWait is how long a run waits between two steps. Watchers space their kicks by the age of the stage.
	minWait = time.Second
	// rejectedWait is when a step is taken again that cannot succeed without a change.
	rejectedWait = time.Hour
	// forever is how long a run sleeps that only a kick can wake.
	forever = 365 * 24 * time.Hour
)

// Workflow works for one ModuleRollout until that has ended, or is gone.
func Workflow(ctx workflow.Context, in Input) error {
	return newRun(ctx, in).run(ctx)
}

// run is one run of Workflow.
type run struct {
	entity.Run
	// last is what the last step found.
	last advance.Out
	// continued is true where an earlier run has taken a step.
	continued bool
	advance   *advance.Activities
}

func newRun(ctx workflow.Context, in Input) *run {
	r := &run{continued: in.Carry != nil}
	carried := Carry{}
	if r.continued {
		carried = *in.Carry
	}
	if r.continued && carried.StepAt.IsZero() {
		carried.StepAt = workflow.Now(ctx).Add(forever)
	}
	r.last = carried.Last
	r.Run = entity.NewRun(ctx, in.Ref, entity.Carry{
		Pending: carried.Pending, Later: carried.Later, Pace: pace.Pace{Until: carried.NotBefore}, Attempt: carried.Attempt,
		RetryAt: carried.StepAt, Fault: carried.Fault,
	})
	r.showState(ctx)
	return r
}

// run is the life of one run, until the rollout has ended or is gone.
func (r *run) run(ctx workflow.Context) error {
	if err := r.Serve(ctx, kick.UpdateEvaluate, r.evaluate, nil); err != nil {
		return err
	}
	return r.Loop(ctx, entity.Loop{
		Workflow: kick.RolloutWorkflow, Input: r.input, Begun: r.continued, Step: r.step, SleepsFor: r.sleepsFor,
		IsOver: func() bool { return r.Fault.IsZero() && (r.last.Gone || r.last.Ended) },
	})
}

// evaluate asks for a step that starts from now on and waits until it has ended.
func (r *run) evaluate(ctx workflow.Context) (Result, error) {
	completed, err := r.Request(ctx, "evaluation requested", "an evaluation")
	if err != nil {
		return Result{}, err
	}
	return Result{Phase: r.last.Phase, Progress: r.last.Progress, WaitsFor: r.last.WaitsFor, Completed: completed}, nil
}

// step takes the next step of the rollout. A kick that comes from now on means one more.
func (r *run) step(ctx workflow.Context) error {
	pending, started := r.Start(ctx)
	r.View.Do("evaluating: "+cmp.Or(pending.Reason, "started"), started)
	var out advance.Out
	err := r.Do(ctx, kick.ControlPlaneQueue, "evaluate the clusters, release or wait", &out, r.advance.AdvanceRollout, advance.In{Ref: r.Ref})
	if temporal.IsCanceledError(err) {
		return err
	}
	r.End(ctx, started, fault.FromTemporal(err))
	now := workflow.Now(ctx)
	r.Pace = pace.Pace{Until: now.Add(minWait)}
	switch {
	case err == nil && out.Until.IsZero():
		r.last, r.RetryAt = out, now.Add(forever)
	case err == nil:
		r.last, r.RetryAt = out, r.Pace.Until
		if out.Until.After(r.Pace.Until) {
			r.RetryAt = out.Until
		}
	case r.RetryAt.IsZero():
		r.RetryAt = now.Add(rejectedWait) // nothing may stick for ever
	}
	r.showState(ctx)
	return nil
}

// showState copies the state into what the query and the current details show.
func (r *run) showState(ctx workflow.Context) {
	r.View.State, r.View.Message, r.View.LastFault = r.last.Phase, r.last.Progress, r.Fault
	if r.last.Stage != "" {
		r.View.Message += ", stage " + r.last.Stage
	}
	if r.last.WaitsFor != "" {
		r.View.Message += ", waits for " + r.last.WaitsFor
	}
	r.Show(ctx)
}

// input is what the next run starts with.
func (r *run) input() any {
	now := r.Carried()
	return Input{Ref: r.Ref, Carry: &Carry{
		Pending: now.Pending, Later: now.Later, Attempt: now.Attempt, StepAt: now.RetryAt, NotBefore: now.Pace.Until, Fault: now.Fault, Last: r.last,
	}}
}

// sleepsFor says in words what a sleeping run waits for.
func (r *run) sleepsFor() string {
	switch {
	case !r.Fault.IsZero():
		return "the next attempt: " + r.Fault.Reason
	case r.Box.Any():
		return "the rate limit before the next step"
	default:
		return cmp.Or(r.last.WaitsFor, "a change")
	}
}
