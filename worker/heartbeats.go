package worker

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/heartbeat"
)

// heartbeatEvery is well within the heartbeat timeout of writing activities. An activity with a shorter timeout sends
// three heartbeats within it.
const heartbeatEvery = 5 * time.Second

// Heartbeats returns the interceptor that sends heartbeats for activities and converts their errors to faults. All
// workers use it except the one for sweeps.
func Heartbeats() interceptor.WorkerInterceptor { return &heartbeats{} }

// heartbeats sends heartbeats for every activity with a heartbeat timeout. It stops the activity if heartbeats no
// longer get through: another attempt may already be running, and this one must not write
// (docs/design/workflows-and-signals.md#activities-that-write). It also converts the error of an activity to a fault.
// As an interceptor it covers all activities, and none can forget this. An activity that sends heartbeats with
// details itself must be scheduled without a heartbeat timeout, so that this interceptor sends none.
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
