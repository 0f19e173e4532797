package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	temporalclient "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// This test uses a real server. An activity that sends no heartbeats itself outlives its heartbeat timeout. A
// cancellation reaches the activity and, as a cancellation, its workflow.
func TestEveryActivityWithAHeartbeatTimeoutIsKeptAlive(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	_, client := temporaltest.Namespace(t, "heartbeats")
	w := sdkworker.New(client, "heartbeats", sdkworker.Options{
		Interceptors: []interceptor.WorkerInterceptor{worker.Heartbeats()},
		// The ratio of the workers in this package, scaled to the timeout below.
		DefaultHeartbeatThrottleInterval: timeout / 4, MaxHeartbeatThrottleInterval: timeout / 4,
	})
	attempts := atomic.Int32{}
	w.RegisterActivityWithOptions(func(context.Context) error {
		attempts.Add(1)
		time.Sleep(timeout + time.Second)
		return nil
	}, activity.RegisterOptions{Name: "slow"})
	w.RegisterActivityWithOptions(func(ctx context.Context) error {
		<-ctx.Done()
		return fault.ToTemporal(fault.New(fault.Transient, "Cut", "request: %w", ctx.Err()))
	}, activity.RegisterOptions{Name: "endless"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) (bool, error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, HeartbeatTimeout: timeout, WaitForCancellation: true,
		})
		if err := workflow.ExecuteActivity(ctx, "slow").Get(ctx, nil); err != nil {
			return false, err
		}
		cancellable, cancel := workflow.WithCancel(ctx)
		future := workflow.ExecuteActivity(cancellable, "endless")
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return false, err
		}
		cancel()
		return temporal.IsCanceledError(future.Get(ctx, nil)), nil
	}, workflow.RegisterOptions{Name: "flow"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run, err := client.ExecuteWorkflow(ctx, temporalclient.StartWorkflowOptions{TaskQueue: "heartbeats"}, "flow")
	require.NoError(t, err)
	var cancelled bool
	require.NoError(t, run.Get(ctx, &cancelled))
	require.True(t, cancelled)
	require.EqualValues(t, 1, attempts.Load())
}
