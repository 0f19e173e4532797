package entity

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Loop describes a run that takes one kind of step.
type Loop struct {
	// Workflow is the name of the workflow, and Input returns what its next run starts with.
	Workflow string
	Input    func() any
	// Begun is true if the workflow has taken a step before.
	Begun bool
	// Step takes one step.
	Step func(ctx workflow.Context) error
	// IsOver reports whether nothing is left to do unless a kick comes.
	IsOver func() bool
	// SleepsFor returns, for people, what a sleeping run waits for.
	SleepsFor func() string
}

// Loop takes steps until nothing is left to do or the run continues as new.
func (r *Run) Loop(ctx workflow.Context, l Loop) error {
	for {
		r.Drain()
		due := r.IsDue(ctx)
		switch decide(situation{
			Begun: l.Begun, Over: l.IsOver(), Pending: r.Box.Any(), Due: due,
			MustContinue: r.MustContinue(ctx, !due), NewBuild: due && r.NewBuild(ctx),
		}) {
		case stepWork:
			l.Begun = true
			if err := l.Step(ctx); err != nil {
				return err
			}
		case stepContinue:
			return r.ContinueAsNew(ctx, l.Workflow, l.Input)
		case stepComplete:
			if done, err := r.MayComplete(ctx, nil); done || err != nil {
				return err
			}
		case stepSleep:
			if err := r.Rest(ctx, l.SleepsFor(), nil); err != nil {
				return err
			}
		}
	}
}

// step is the next thing that a run does.
type step string

const (
	stepWork     step = "work"
	stepSleep    step = "sleep"
	stepContinue step = "continue as new"
	stepComplete step = "complete"
)

// situation holds everything that decide depends on.
type situation struct {
	// Begun is true once a step was taken. Over is true if nothing is left to do.
	Begun, Over bool
	// Pending is true if a kick waits to be acted on. Due is true if a step is due.
	Pending, Due           bool
	MustContinue, NewBuild bool
}

// decide returns the next step. A run with nothing left to do ends. A run that should continue as new does so before
// it acts.
func decide(s situation) step {
	switch {
	case !s.Begun:
		return stepWork
	case s.Over && !s.Pending:
		return stepComplete
	case s.MustContinue || s.NewBuild:
		return stepContinue
	case s.Due:
		return stepWork
	default:
		return stepSleep
	}
}

// Request asks for a step on behalf of an update's caller, and waits until that step has ended. The step starts after
// the call. Request reports whether the step ended in time. what names the step for people, with its article.
func (r *Run) Request(ctx workflow.Context, reason, what string) (bool, error) {
	wanted := r.Started + 1
	r.Box.Put(kick.Kick{Reason: reason, Urgent: true})
	return r.AwaitRequested(ctx, "a caller waits for "+what+" to end", func() bool { return r.Ended >= wanted })
}
