package workflows

import "go.temporal.io/sdk/workflow"

// idleEvents is the length of history from which an idle run continues as new.
const idleEvents = 1000

// mustContinue tells whether the run should continue as new now. An update handler that waits gets its
// reconcile from this run first.
func (e *entity) mustContinue(ctx workflow.Context, idle bool) bool {
	info := workflow.GetInfo(ctx)
	must := e.mail.Forced ||
		info.GetContinueAsNewSuggested() ||
		(idle && info.GetCurrentHistoryLength() > idleEvents)
	return must && workflow.AllHandlersFinished(ctx)
}

// newBuild tells whether another build than the one that began this run executes it now. A sleeping run
// keeps the logic version it was started with, so it continues as new before it acts.
func (e *entity) newBuild(ctx workflow.Context) bool {
	return buildOf(ctx) != e.build && workflow.AllHandlersFinished(ctx)
}

// settleHandlers waits for update handlers to finish. It returns false when something arrived meanwhile: then the run does
// not end yet.
func (e *entity) settleHandlers(ctx workflow.Context) (bool, error) {
	if !workflow.AllHandlersFinished(ctx) {
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return false, err
		}
	}
	// In this very task: nothing may remain in a channel when the run returns.
	e.mail.Drain()
	return !e.mail.Any(), nil
}

// complete is the one place where a run decides that it may return. It is true only if, in the very task
// that returns, no signal is unread, no kick is pending and no handler is running.
func (e *entity) complete(ctx workflow.Context) (bool, error) {
	e.mail.Drain()
	if e.mail.Any() {
		return false, nil
	}
	e.ending = true
	quiet, err := e.settleHandlers(ctx)
	if err != nil {
		return false, err
	}
	e.ending = quiet
	return quiet, nil
}

// continueAsNew is the one place where a run continues as new. It is decided on only while no handler is
// running (mustContinue, newBuild). What is pending travels with the carry, so that every channel is empty.
func (e *entity) continueAsNew(ctx workflow.Context, name string, input func() any) error {
	e.mail.Drain()
	e.ending = true
	return workflow.NewContinueAsNewError(ctx, name, input())
}
