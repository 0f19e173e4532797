// Package ending decides when a run ends: Must and NewBuild when it continues as new, Quietly whether it may return. A
// signal that is still unread when a run ends is lost without an error at its sender.
package ending

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/workflows/internal/build"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
)

// ErrType is the type of the retryable error with which an update is refused by a run that is about to end; the caller repeats
// it and reaches the next run.
const ErrType = "RunIsEnding"

// Refuse is that error where the run is about to end.
func Refuse(ending bool) error {
	if ending {
		return temporal.NewApplicationError("this run is about to end, try again", ErrType)
	}
	return nil
}

// IdleEvents is the length of history from which an idle run continues as new.
const IdleEvents = 1000

// Must tells whether the run should continue as new now. An update handler that waits gets its reconcile from this run
// first.
func Must(ctx workflow.Context, mail *mailbox.Mailbox, idle bool) bool {
	info := workflow.GetInfo(ctx)
	must := mail.Forced ||
		info.GetContinueAsNewSuggested() ||
		(idle && info.GetCurrentHistoryLength() > IdleEvents)
	return must && workflow.AllHandlersFinished(ctx)
}

// NewBuild tells whether another build than the one that began this run executes it now. A sleeping run
// keeps the logic version it was started with, so it continues as new before it acts.
func NewBuild(ctx workflow.Context, began string) bool {
	return build.Of(ctx) != began && workflow.AllHandlersFinished(ctx)
}

// Quietly is the one place where a run decides that it may return. It is true only if, in the very task
// that returns, no signal is unread, no kick is pending and no handler is running. Then ending stays true, by which the
// run refuses what comes in until it has returned. Idle reports whether nothing else of the run is at work.
func Quietly(ctx workflow.Context, mail *mailbox.Mailbox, ending *bool, idle func() bool) (bool, error) {
	mail.Drain()
	if mail.Any() || !idle() {
		return false, nil
	}
	*ending = true
	quiet, err := settleHandlers(ctx, mail, idle)
	if err != nil {
		return false, err
	}
	*ending = quiet
	return quiet, nil
}

// settleHandlers waits for update handlers to finish. It returns false when something arrived meanwhile: then the run does
// not end yet.
func settleHandlers(ctx workflow.Context, mail *mailbox.Mailbox, idle func() bool) (bool, error) {
	if !workflow.AllHandlersFinished(ctx) {
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return false, err
		}
	}
	// In this very task: nothing may remain in a channel when the run returns.
	mail.Drain()
	return !mail.Any() && idle(), nil
}

// AsNew is the one place where a run continues as new. It is decided on only while no handler is
// running (Must, NewBuild). What is pending travels with the input, so that every channel is empty.
func AsNew(ctx workflow.Context, mail *mailbox.Mailbox, ending *bool, name string, input func() any) error {
	mail.Drain()
	*ending = true
	return workflow.NewContinueAsNewError(ctx, name, input())
}
