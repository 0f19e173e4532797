package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// keptAlive runs work with heartbeats that get the given answers, and returns its context.
func keptAlive(t *testing.T, beat func(context.Context) error) (ctx context.Context, told *bool) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	told = new(bool)
	done := make(chan struct{})
	p := keepAlive{interval: time.Second, timeout: 10 * time.Second, beat: beat, cancel: cancel, ended: func() { *told = true }}
	go p.run(ctx, done)
	t.Cleanup(func() { close(done) })
	return ctx, told
}

func TestWorkGoesOnWhileHeartbeatsGetThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		beats := 0
		ctx, _ := keptAlive(t, func(context.Context) error { beats++; return nil })
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(t, ctx.Err())
		require.InDelta(t, 60, beats, 1)
	})
}

func TestWorkStopsWhenNoHeartbeatGotThroughForItsTimeout(t *testing.T) {
	t.Parallel()
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	fails := func(context.Context) error { return errors.New("unavailable") }
	for name, beat := range map[string]func(context.Context) error{"they fail": fails, "they hang": hangs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, _ := keptAlive(t, beat)
				time.Sleep(9 * time.Second)
				synctest.Wait()
				require.NoError(t, ctx.Err(), "a few lost heartbeats do not matter")
				time.Sleep(2 * time.Second)
				synctest.Wait()
				require.ErrorIs(t, context.Cause(ctx), ErrLost)
				require.ErrorIs(t, Error(ctx, context.Canceled), ErrLost, "a lost heartbeat is not a cancellation")
			})
		})
	}
}

func TestTheTimeOfAHeartbeatRequestCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		beats := 0
		ctx, _ := keptAlive(t, func(ctx context.Context) error {
			beats++
			if beats > 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			time.Sleep(8 * time.Second)
			return nil
		})
		time.Sleep(12 * time.Second) // sent after 1 s and answered after 9 s, then none: the server gives up after 11 s
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), ErrLost)
	})
}

func TestWorkStopsWhenTheServerEndsTheAttempt(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{
		"cancellation was requested": temporal.NewCanceledError(),
		"the attempt is unknown":     serviceerror.NewNotFound("timed out"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, told := keptAlive(t, func(context.Context) error { return answer })
				<-ctx.Done()
				require.True(t, *told, "the SDK must learn of the cancellation too")
				require.Equal(t, temporal.IsCanceledError(answer), temporal.IsCanceledError(Error(ctx, ctx.Err())))
			})
		})
	}
}

func TestWorkThatTimesOutSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	require.ErrorContains(t, Error(ctx, errors.New("apply Deployment a/b: connection cut")), "the step did not finish in time")
}

func TestACancellationReachesTheWorkAndTheWorkflow(t *testing.T) {
	t.Parallel()
	address := testfleet.Require(t, "TEMPORAL_ADDRESS")
	temporalClient, err := client.Dial(client.Options{HostPort: address})
	require.NoError(t, err)
	defer temporalClient.Close()
	queue := fmt.Sprintf("heartbeat-%d", time.Now().UnixNano())
	w := worker.New(temporalClient, queue, worker.Options{})
	begun := make(chan struct{}, 1)
	work := func(ctx context.Context) error {
		ctx, stop := Every(ctx, 100*time.Millisecond)
		defer stop()
		begun <- struct{}{}
		<-ctx.Done()
		return fault.ToTemporal(Error(ctx, fmt.Errorf("request: %w", ctx.Err())))
	}
	w.RegisterActivityWithOptions(work, activity.RegisterOptions{Name: "work"})
	flow := func(ctx workflow.Context) (bool, error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second, WaitForCancellation: true,
		})
		err := workflow.ExecuteActivity(ctx, "work").Get(ctx, nil)
		return temporal.IsCanceledError(err), nil
	}
	w.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "flow"})
	require.NoError(t, w.Start())
	defer w.Stop()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	run, err := temporalClient.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: queue}, "flow")
	require.NoError(t, err)
	<-begun
	require.NoError(t, temporalClient.CancelWorkflow(ctx, run.GetID(), run.GetRunID()))
	var cancelled bool
	require.NoError(t, run.Get(ctx, &cancelled))
	require.True(t, cancelled)
}
