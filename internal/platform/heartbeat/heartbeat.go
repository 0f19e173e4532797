// Package heartbeat keeps an activity that writes alive, and stops it where it cannot be kept alive.
package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// ErrLost is the cause with which the context is cancelled when no heartbeat got through for a heartbeat
// time-out. By then another attempt may be running: this one must not write any more.
var ErrLost = errors.New("no heartbeat got through: another attempt may have taken over")

// Every heartbeats in the background each interval until stop is called. The context it returns is
// cancelled when the activity is asked to cancel, when the server does not know it any more, and with
// cause ErrLost when no heartbeat got through for the activity's heartbeat time-out
// (docs/design/workflows-and-signals.md#activities-that-write:
// no zombie writes late). stop waits for the background work to end; call it before returning.
//
// It is for the context of an activity that was scheduled with a heartbeat time-out; a local one never is.
func Every(ctx context.Context, interval time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	info := activity.GetInfo(ctx)
	temporalClient := activity.GetClient(ctx)
	beat := func(ctx context.Context) error {
		return temporalClient.RecordActivityHeartbeat(ctx, info.TaskToken)
	}
	// The SDK reports a cancellation only when it learned of it itself, from a heartbeat of its own.
	record := func() { activity.RecordHeartbeat(ctx) }
	p := keepAlive{interval: interval, timeout: info.HeartbeatTimeout, beat: beat, cancel: cancel, ended: record}

	done := make(chan struct{})
	var background sync.WaitGroup
	background.Go(func() { p.run(ctx, done) })
	var once sync.Once
	return ctx, func() {
		once.Do(func() {
			close(done)
			cancel(context.Canceled)
			background.Wait()
		})
	}
}

// keepAlive is one activity's background heartbeat.
type keepAlive struct {
	interval, timeout time.Duration
	beat              func(context.Context) error
	cancel            context.CancelCauseFunc
	// ended is called when the server says that this attempt is over.
	ended func()
}

func (p keepAlive) run(ctx context.Context, done <-chan struct{}) {
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	// The deadline fires by itself, also while a heartbeat hangs.
	deadline := time.AfterFunc(p.timeout, func() { p.cancel(ErrLost) })
	defer deadline.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		sent := time.Now()
		err := p.beat(ctx)
		switch {
		case err == nil:
			// The server's time-out runs from when it heard of us, which may be long before its answer came.
			deadline.Reset(p.timeout - time.Since(sent))
		case ends(err):
			p.ended()
			p.cancel(fmt.Errorf("heartbeat: %w", err))
			return
		}
	}
}

// Error is what an activity that got the context of Every returns for its own error: a cancellation where it
// was asked to cancel, and that its time was over where it was, so that the workflow sees that and not how the
// work was cut off.
func Error(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	cause := context.Cause(ctx)
	switch {
	case temporal.IsCanceledError(cause):
		return temporal.NewCanceledError()
	case errors.Is(cause, ErrLost):
		return cause
	case errors.Is(cause, context.DeadlineExceeded):
		// Our time is over; that says nothing about who was asked last.
		return fmt.Errorf("the step did not finish in time: %w", cause)
	}
	return err
}

// ends tells whether the answer to a heartbeat means that this attempt is over.
func ends(err error) bool {
	var gone *serviceerror.NotFound
	var inactive *serviceerror.NamespaceNotActive
	return temporal.IsCanceledError(err) || errors.As(err, &gone) || errors.As(err, &inactive) ||
		errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}
