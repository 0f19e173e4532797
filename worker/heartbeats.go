package worker

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/heartbeat"
)

// heartbeatEvery is well within the heartbeat time-out of the activities that write; one with a shorter time-out
// heartbeats three times within it.
const heartbeatEvery = 5 * time.Second

// Heartbeats is the interceptor that keeps activities alive and turns what they end with into faults. Every worker
// but that of the sweeps has it.
func Heartbeats() interceptor.WorkerInterceptor { return &heartbeats{} }

// heartbeats keeps every activity that was scheduled with a heartbeat time-out alive, and stops it when that
// cannot be done any more: then another attempt may be running already, and this one must not write
// (docs/design/workflows-and-signals.md#activities-that-write). What an activity ends with is carried as a fault. Both
// are here so that no activity can forget them. Activities that heartbeat details of their own, as those
// that wait, must be scheduled without a heartbeat time-out, which leaves their heartbeats to them.
type heartbeats struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (*heartbeats) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	beating := &beatingActivity{}
	beating.Next = next
	return beating
}

type beatingActivity struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (b *beatingActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	timeout := activity.GetInfo(ctx).HeartbeatTimeout
	if timeout == 0 {
		result, err := b.Next.ExecuteActivity(ctx, in)
		return result, fault.ToTemporal(err)
	}
	ctx, stop := heartbeat.Every(ctx, min(heartbeatEvery, timeout/3))
	defer stop()
	result, err := b.Next.ExecuteActivity(ctx, in)
	return result, fault.ToTemporal(heartbeat.Error(ctx, err))
}
