package attempts

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
)

// For waits for a condition, but not longer than atMost. Its timer, which the summary describes, ends with the wait:
// the SDK would let it fire, for a workflow task that does nothing.
func For(ctx workflow.Context, version workflow.Version, atMost time.Duration, summary string, condition func() bool) error {
	waiting := ctx
	if version >= logic.NoIdleTimers {
		var cancel workflow.CancelFunc
		waiting, cancel = workflow.WithCancel(ctx)
		defer cancel()
	}
	_, err := workflow.AwaitWithOptions(waiting, workflow.AwaitOptions{
		Timeout:      atMost,
		TimerOptions: workflow.TimerOptions{Summary: summary},
	}, condition)
	return err
}
