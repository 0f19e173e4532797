package entity

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Loop is the life of a run that takes one kind of step: when it begins, when it is due, and when a kick asks for it.
type Loop struct {
	// Workflow is the name of the workflow, and Input returns what its next run starts with.
	Workflow string
	Input    func() any
	// Begun is true once the workflow has taken a step.
	Begun bool
	// Step takes one.
	Step func(ctx workflow.Context) error
	// IsOver tells whether nothing is left to do, unless a kick comes.
	IsOver func() bool
	// SleepsFor says in words what a sleeping run waits for.
	SleepsFor func() string
}

// Loop takes steps until the run has nothing left to do or continues as new.
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

// step is what a run does next.
type step string

const (
	stepWork     step = "work"
	stepSleep    step = "sleep"
	stepContinue step = "continue as new"
	stepComplete step = "complete"
)

// situation is all that the decision depends on.
type situation struct {
	// Begun is true once a step was taken, Over when nothing is left to do.
	Begun, Over bool
	// Pending is true when a kick waits to be acted on, Due when the time of a step has come.
	Pending, Due           bool
	MustContinue, NewBuild bool
}

// decide decides. A run with nothing left to do ends; one that should continue as new does so before it acts.
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

// Request asks for a step that starts from now on, for the caller of an update, and waits until it has ended. It reports whether it
// ended in time. What is asked for is a step in words, with its article.
func (r *Run) Request(ctx workflow.Context, reason, what string) (bool, error) {
	wanted := r.Started + 1
	r.Box.Put(kick.Kick{Reason: reason, Urgent: true})
	return r.AwaitRequested(ctx, "a caller waits for "+what+" to end", func() bool { return r.Ended >= wanted })
}
