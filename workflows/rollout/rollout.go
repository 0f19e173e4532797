// Package rollout has the workflow that takes one ModuleRollout from its first stage to its end. Each step is one
// activity that reads the live objects, decides, and writes the rollout's status. Between steps the workflow sleeps
// until the next deadline or a kick. The rollout's status holds the whole state: if the workflow is started again, it
// continues from there.
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

// Carry is the state that a rollout's workflow carries from run to run. It only ever gains fields: the previous
// release must be able to read it.
type Carry struct {
	Pending mailbox.Pending `json:"pending,omitzero"`
	Later   mailbox.Pending `json:"later,omitzero"`
	// Attempt counts failed steps in a row.
	Attempt int `json:"attempt,omitempty"`
	// StepAt is when to take the next step if no kick comes: a deadline of the rollout, or the retry of a failed
	// step. Zero means only after a kick.
	StepAt time.Time `json:"stepAt,omitzero"`
	// NotBefore is the earliest time of the next step.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Fault is the last fault, Last the result of the last step.
	Fault fault.Fault `json:"fault,omitzero"`
	Last  advance.Out `json:"last,omitzero"`
}

// Result is the answer to the evaluate update.
type Result struct {
	Phase    string `json:"phase"`
	Progress string `json:"progress,omitempty"`
	WaitsFor string `json:"waitsFor,omitempty"`
	// Completed is false if the step did not end within the update's 30 seconds. The other fields then hold the last
	// known state.
	Completed bool `json:"completed"`
}

const (
	// minWait is the minimum time between two steps. Watchers space their kicks by the age of the stage.
	minWait = time.Second
	// rejectedWait is the wait before a step is repeated that cannot succeed without a change.
	rejectedWait = time.Hour
	// forever is the sleep of a run that only a kick can wake.
	forever = 365 * 24 * time.Hour
)

// Workflow works for one ModuleRollout until the rollout has ended or is gone.
func Workflow(ctx workflow.Context, in Input) error {
	return newRun(ctx, in).run(ctx)
}

// run is one run of Workflow.
type run struct {
	entity.Run
	// last is the result of the last step.
	last advance.Out
	// continued is true if an earlier run has taken a step.
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

// run runs until the rollout has ended or is gone, or the run continues as new.
func (r *run) run(ctx workflow.Context) error {
	if err := r.Serve(ctx, kick.UpdateEvaluate, r.evaluate, nil); err != nil {
		return err
	}
	return r.Loop(ctx, entity.Loop{
		Workflow: kick.RolloutWorkflow, Input: r.input, Begun: r.continued, Step: r.step, SleepsFor: r.sleepsFor,
		IsOver: func() bool { return r.Fault.IsZero() && (r.last.Gone || r.last.Ended) },
	})
}

// evaluate requests a new step and waits until it has ended.
func (r *run) evaluate(ctx workflow.Context) (Result, error) {
	completed, err := r.Request(ctx, "evaluation requested", "an evaluation")
	if err != nil {
		return Result{}, err
	}
	return Result{Phase: r.last.Phase, Progress: r.last.Progress, WaitsFor: r.last.WaitsFor, Completed: completed}, nil
}

// step takes the next step of the rollout. A kick that arrives from now on causes one more.
func (r *run) step(ctx workflow.Context) error {
	pending, started := r.Start(ctx)
	r.View.Do("evaluating: "+cmp.Or(pending.Reason, "started"), started)
	var out advance.Out
	err := r.Do(ctx, kick.ControlPlaneQueue, "evaluate the clusters, then release the next stage or wait", &out, r.advance.AdvanceRollout, advance.In{Ref: r.Ref})
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
		r.RetryAt = now.Add(rejectedWait) // never get stuck
	}
	r.showState(ctx)
	return nil
}

// showState copies the state into the status query's answer and the current details.
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

// input returns the input of the next run.
func (r *run) input() any {
	now := r.Carried()
	return Input{Ref: r.Ref, Carry: &Carry{
		Pending: now.Pending, Later: now.Later, Attempt: now.Attempt, StepAt: now.RetryAt, NotBefore: now.Pace.Until, Fault: now.Fault, Last: r.last,
	}}
}

// sleepsFor returns, for people, what a sleeping run waits for.
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
