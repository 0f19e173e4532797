package attempts

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// For waits for a condition, but not longer than atMost. The summary describes its timer. The timer ends with the wait: the
// SDK would let it fire later, for a workflow task that does nothing.
func For(ctx workflow.Context, atMost time.Duration, summary string, condition func() bool) error {
	waiting, cancel := workflow.WithCancel(ctx)
	defer cancel()
	_, err := workflow.AwaitWithOptions(waiting, workflow.AwaitOptions{
		Timeout:      atMost,
		TimerOptions: workflow.TimerOptions{Summary: summary},
	}, condition)
	return err
}
