package listener

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/internal/queue"
)

// kicker sends the waiting kicks.
type kicker struct {
	kicks Kicks
	log   *limitedLog
	now   func() time.Time
	delay prometheus.Histogram
	lost  prometheus.Counter
	// slots has one entry per kick in flight. stop is how long kicks are still sent when the process ends.
	slots   chan struct{}
	timeout time.Duration
	stop    time.Duration
	// changed wakes the sending goroutine.
	changed chan struct{}

	mu    sync.Mutex
	queue *queue.Queue
	// sending is the number of kicks in flight.
	sending int
	closed  bool
}

func newKicker(kicks Kicks, limits limits, log *limitedLog, now func() time.Time) *kicker {
	return &kicker{
		kicks: kicks, log: log, now: now, slots: make(chan struct{}, limits.senders), timeout: limits.kick, stop: limits.drain,
		changed: make(chan struct{}, 1), queue: queue.New(limits.queue),
	}
}

// length returns the number of waiting entities.
func (k *kicker) length() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.queue.Len()
}

// put adds items. It returns Merged if all were merged, and Full if one found no room. The agent then sends the event
// again, and the items that found room are merged.
func (k *kicker) put(items []queue.Item) queue.Outcome {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return queue.Full
	}
	now, all := k.now(), queue.Merged
	for _, item := range items {
		switch k.queue.Add(item, now) {
		case queue.Full:
			all = queue.Full
		case queue.Queued:
			if all == queue.Merged {
				all = queue.Queued
			}
		case queue.Merged:
		}
	}
	k.wake()
	return all
}

func (k *kicker) wake() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// run sends waiting kicks until the context ends, and then the remaining ones for some seconds.
func (k *kicker) run(ctx context.Context) {
	k.send(ctx, func() bool { return false })
	k.mu.Lock()
	k.queue.Drain(k.now())
	k.mu.Unlock()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.stop)
	defer cancel()
	k.send(ending, func() bool { return k.queue.Len() == 0 && k.sending == 0 })
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if lost := k.queue.Len() + k.sending; lost > 0 {
		k.lost.Add(float64(lost))
		k.log.log.Info("the process ends with events that were not passed on; the sweep finds the changes", logkey.Total, lost)
	}
}

// send sends waiting kicks until the context ends or done returns true.
func (k *kicker) send(ctx context.Context, done func() bool) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case k.slots <- struct{}{}:
		}
		k.mu.Lock()
		ends := ctx.Err() != nil || done()
		var item queue.Item
		var wait time.Duration
		var found bool
		if !ends {
			if item, wait, found = k.queue.Next(k.now()); found {
				k.sending++
			}
		}
		k.mu.Unlock()
		if found {
			// A kick in flight ends by its own timeout. It is not canceled, because a canceled kick may or may not have
			// been delivered.
			go k.deliver(context.WithoutCancel(ctx), item)
			continue
		}
		<-k.slots
		if ends {
			return
		}
		wait = cmp.Or(wait, time.Minute)
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-k.changed:
		case <-timer.C:
		}
	}
}

// deliver sends one kick. A failed kick is queued again.
func (k *kicker) deliver(ctx context.Context, item queue.Item) {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	var err error
	if item.Manifest == (kick.Ref{}) {
		err = k.kicks.Kyma(ctx, item.Kyma, item.Kick)
	} else {
		err = k.kicks.Manifest(ctx, item.Kyma, item.Manifest, item.Kick)
	}
	now := k.now()
	k.mu.Lock()
	k.sending--
	if err != nil {
		k.queue.Failed(item, now)
	} else {
		k.queue.Delivered(item, now)
	}
	k.mu.Unlock()
	<-k.slots
	k.wake()
	if err != nil {
		k.log.say(err, "kick a workflow for an event, will try again", logkey.Kyma, item.Kyma.String())
		return
	}
	k.delay.Observe(now.Sub(item.Since).Seconds())
}
