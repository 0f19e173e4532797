// Package heartbeat keeps a writing activity alive with heartbeats, and cancels its context if no heartbeat gets
// through.
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

// ErrLost is the cause of the context's cancellation after no heartbeat got through for a heartbeat timeout. By then
// another attempt may be running, so this attempt must stop writing.
var ErrLost = errors.New("no heartbeat got through: another attempt may have taken over")

// Every heartbeats in the background at each interval until stop is called. It cancels the returned context if the
// activity is asked to cancel, if the server does not know the activity any more, or, with cause ErrLost, if no
// heartbeat got through for the activity's heartbeat timeout. No zombie attempt writes late
// (docs/design/workflows-and-signals.md#activities-that-write). Call stop before returning; it waits for the background
// work to end.
//
// The context must belong to an activity that was scheduled with a heartbeat timeout. Local activities never have one.
func Every(ctx context.Context, interval time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	info := activity.GetInfo(ctx)
	temporalClient := activity.GetClient(ctx)
	beat := func(ctx context.Context) error {
		return temporalClient.RecordActivityHeartbeat(ctx, info.TaskToken)
	}
	// The SDK reports a cancellation only if it learned of it from one of its own heartbeats.
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

// keepAlive sends the background heartbeats of one activity.
type keepAlive struct {
	interval, timeout time.Duration
	beat              func(context.Context) error
	cancel            context.CancelCauseFunc
	// ended is called when the server answers that this attempt is over.
	ended func()
}

func (p keepAlive) run(ctx context.Context, done <-chan struct{}) {
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	// The deadline fires even while a heartbeat hangs.
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
			// The server's timeout runs from the time at which it received the heartbeat, which may be long before its
			// answer arrives.
			deadline.Reset(p.timeout - time.Since(sent))
		case ends(err):
			p.ended()
			p.cancel(fmt.Errorf("heartbeat: %w", err))
			return
		}
	}
}

// Error returns the error that an activity should return if it used the context of Every: a cancellation if the
// activity was asked to cancel, or a timeout if its time is over. The workflow then sees that reason instead of the
// error of the interrupted request.
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
		// Our time is over; the error of the last request says nothing about the server that it went to.
		return fmt.Errorf("the step did not finish in time: %w", cause)
	}
	return err
}

// ends reports whether the answer to a heartbeat means that this attempt is over.
func ends(err error) bool {
	var gone *serviceerror.NotFound
	var inactive *serviceerror.NamespaceNotActive
	return temporal.IsCanceledError(err) || errors.As(err, &gone) || errors.As(err, &inactive) ||
		errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}
