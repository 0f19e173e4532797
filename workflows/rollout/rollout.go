// Package rollout has Workflow, which takes one ModuleRollout from its first stage to its end. Each of its steps is one
// activity, which reads the truth, decides and writes the rollout's status; between them it sleeps until the next deadline or
// a kick. It holds nothing that is not in that status: begun anew, it goes on where the status says. next.go decides what a
// run does next.
package rollout

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/build"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/ending"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/pace"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// Input is the input of Workflow. Starters set Ref only (kick.Start).
type Input struct {
	Ref   kick.Ref `json:"ref"`
	Carry *Carry   `json:"carry,omitempty"`
}

// Carry is what a rollout's workflow carries from run to run. Fields are only ever added: the previous release must be able
// to read it.
type Carry struct {
	// Format is the version of the carried type.
	Format  int             `json:"format"`
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

// carryFormat is the present format of Carry.
const carryFormat = 1

// Result answers the evaluate update.
type Result struct {
	Phase    string `json:"phase"`
	Progress string `json:"progress,omitempty"`
	WaitsFor string `json:"waitsFor,omitempty"`
	// Completed is false when the step did not end within the update's 30 seconds; the rest is then what was known last.
	Completed bool `json:"completed"`
}

const (
	// evaluateTimeout bounds how long the evaluate update waits for its step.
	evaluateTimeout = 30 * time.Second
	// minWait is how long a run waits between two steps. Watchers space their kicks by the age of the stage.
	minWait = time.Second
)

// Workflow works for one ModuleRollout until that has ended, or is gone.
func Workflow(ctx workflow.Context, in Input) error {
	return newRun(ctx, in).run(ctx)
}

// run is one run of Workflow.
type run struct {
	ref   kick.Ref
	id    string
	build string
	mail  *mailbox.Mailbox
	state Carry
	local attempts.Local
	// evaluated is true once this workflow has taken a step.
	evaluated      bool
	started, ended int
	ending         bool
	view           view.View
	advance        *advance.Activities
}

func newRun(ctx workflow.Context, in Input) *run {
	logic.Of(ctx)
	r := &run{ref: in.Ref, id: workflow.GetInfo(ctx).WorkflowExecution.ID, build: build.Of(ctx)}
	if in.Carry != nil {
		r.state, r.evaluated = *in.Carry, true
	}
	r.mail = mailbox.New(ctx, r.state.Pending, r.state.Later)
	r.view.Of, r.view.Since = r.ref.String(), workflow.Now(ctx)
	r.show(ctx)
	return r
}

// run is the life of one run: decide what to do next, do it, until the rollout has ended or is gone.
func (r *run) run(ctx workflow.Context) error {
	if err := r.serve(ctx); err != nil {
		return err
	}
	for {
		r.mail.Drain()
		switch r.next(ctx) {
		case stepAdvance:
			if err := r.step(ctx); err != nil {
				return err
			}
		case stepContinue:
			return ending.AsNew(ctx, r.mail, &r.ending, kick.RolloutWorkflow, r.input)
		case stepComplete:
			if done, err := ending.Quietly(ctx, r.mail, &r.ending, func() bool { return true }); done || err != nil {
				return err
			}
		case stepSleep:
			if err := r.sleep(ctx); err != nil {
				return err
			}
		}
	}
}

// serve registers the query and the update.
func (r *run) serve(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, kick.QueryStatus, func() (view.View, error) { return r.view, nil }); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, kick.UpdateEvaluate, r.evaluate,
		workflow.UpdateHandlerOptions{Validator: func(workflow.Context) error { return ending.Refuse(r.ending) }})
}

// evaluate asks for a step that starts from now on and waits until it has ended.
func (r *run) evaluate(ctx workflow.Context) (Result, error) {
	wanted := r.started + 1
	r.mail.Put(kick.Kick{Reason: "evaluation requested", Urgent: true})
	done := func() bool { return r.ended >= wanted || r.ending }
	if err := attempts.For(ctx, evaluateTimeout, "a caller waits for an evaluation to end", done); err != nil {
		return Result{}, err
	}
	if r.ended < wanted && r.ending {
		return Result{}, ending.Refuse(r.ending)
	}
	last := r.state.Last
	return Result{Phase: last.Phase, Progress: last.Progress, WaitsFor: last.WaitsFor, Completed: r.ended >= wanted}, nil
}

// step takes the next step of the rollout. A kick that comes from now on means one more.
func (r *run) step(ctx workflow.Context) error {
	r.started++
	pending := r.mail.Take()
	r.evaluated = true
	r.view.Do("evaluating: "+cmp.Or(pending.Reason, "started"), workflow.Now(ctx))
	var out advance.Out
	err := r.local.Do(ctx, attempts.Step{
		Queue: kick.ControlPlaneQueue, Summary: "evaluate the clusters, release or wait",
		Activity: r.advance.AdvanceRollout, Input: advance.In{Ref: r.ref}, Answer: &out,
	})
	if temporal.IsCanceledError(err) {
		return err
	}
	now := workflow.Now(ctx)
	r.ended, r.state.NotBefore = r.started, now.Add(minWait)
	r.state.StepAt, r.state.Fault = time.Time{}, fault.FromTemporal(err)
	if err == nil {
		r.state.Last, r.state.Attempt, r.state.StepAt = out, 0, out.Until
	} else {
		r.state.Attempt++
		wait, again := pace.Backoff(r.state.Fault, r.state.Attempt, r.id)
		if !again {
			wait = rejectedWait // nothing may stick for ever
		}
		r.state.StepAt = now.Add(wait)
	}
	r.show(ctx)
	return nil
}

// show copies the state into what the query and the current details show.
func (r *run) show(ctx workflow.Context) {
	last := r.state.Last
	r.view.State, r.view.Message, r.view.LastFault = last.Phase, last.Progress, r.state.Fault
	if last.Stage != "" {
		r.view.Message += ", stage " + last.Stage
	}
	if last.WaitsFor != "" {
		r.view.Message += ", waits for " + last.WaitsFor
	}
	workflow.SetCurrentDetails(ctx, r.view.Markdown())
}

// input is what the next run starts with.
func (r *run) input() any {
	carry := r.state
	carry.Format, carry.Pending, carry.Later = carryFormat, r.mail.Pending, r.mail.Later
	return Input{Ref: r.ref, Carry: &carry}
}
