package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/pace"
)

// Carry is what an entity carries from run to run. Fields are only ever added: the previous release must be able to read it.
type Carry struct {
	Pending mailbox.Pending `json:"pending,omitzero"`
	// Later are the kicks that wait for their time.
	Later mailbox.Pending `json:"later,omitzero"`
	Pace  pace.Pace       `json:"pace,omitzero"`
	// Attempt counts failed reconciles since the last one that succeeded.
	Attempt int `json:"attempt,omitempty"`
	// RetryAt is when a failed reconcile is retried. It is zero if only a kick can help.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Fault is the last fault.
	Fault fault.Fault `json:"fault,omitzero"`
	// Since is when a watcher saw the oldest change that was not applied yet. It is zero if there is none.
	Since time.Time `json:"since,omitzero"`
}

// entity is what the workflow works for at its own pace: the Kyma, or one of its modules.
type entity struct {
	ref kick.Ref
	// id spreads the retries of many entities.
	id string
	// post receives the signals of the run, and box holds the kicks for this entity.
	post *mailbox.Mailbox
	box  *mailbox.Box
	pace pace.Pace
	// local bounds the local attempts of the present workflow task, which all entities of the run share.
	local *attempts.Local
	// urgent is true if an urgent kick asked for the present reconcile, or for the last one.
	urgent bool
	// background is true while nobody waits for the present reconcile.
	background bool

	attempt int
	retryAt time.Time
	fault   fault.Fault
	// since is when a watcher saw the oldest change that this entity has not acted on with success. It is measured only.
	since time.Time

	reconcilesStarted, reconcilesEnded int
}

func (e *entity) restore(carry Carry) {
	e.box.Pending, e.box.Later = carry.Pending, carry.Later
	e.pace, e.attempt, e.retryAt, e.fault, e.since = carry.Pace, carry.Attempt, carry.RetryAt, carry.Fault, carry.Since
}

func (e *entity) carry() Carry {
	return Carry{
		Pending: e.box.Pending, Later: e.box.Later, Pace: e.pace, Attempt: e.attempt, RetryAt: e.retryAt, Fault: e.fault, Since: e.since,
	}
}

// drain sorts the signals that came in, and marks those for this entity as read.
func (e *entity) drain() {
	e.post.Sort()
	e.box.Read()
}

// arrived reports whether a signal or a kick for this entity came in since drain.
func (e *entity) arrived() bool { return e.post.Received() || e.box.Unread() }

// start starts a reconcile. A kick that comes in from now on means one more.
func (e *entity) start(ctx workflow.Context) (mailbox.Pending, time.Time) {
	e.reconcilesStarted++
	e.drain()
	pending := e.box.Take()
	e.urgent, e.since = pending.Urgent, kick.Earliest(e.since, pending.Since)
	e.background = pending.Count > 0 && !pending.Urgent
	return pending, workflow.Now(ctx)
}

// beginPart starts a part of a reconcile, such as a report. Kicks that wait for their time keep waiting.
func (e *entity) beginPart(ctx workflow.Context) (mailbox.Pending, time.Time) {
	e.reconcilesStarted++
	e.drain()
	pending := e.box.TakeDue()
	e.urgent, e.background = pending.Urgent, false
	return pending, workflow.Now(ctx)
}

// endPart ends a part of a reconcile. It does not change when a whole one is retried.
func (e *entity) endPart(ctx workflow.Context, started time.Time) {
	e.reconcilesEnded = e.reconcilesStarted
	e.pace = e.pace.After(started, workflow.Now(ctx), e.urgent)
}

// endStep ends a reconcile of which every step so far succeeded. Failed attempts still count until the next step succeeds too:
// otherwise a module that can be applied but not read would be applied for ever.
func (e *entity) endStep(ctx workflow.Context, started time.Time) {
	e.endPart(ctx, started)
	e.retryAt, e.fault = time.Time{}, fault.Fault{}
}

// end ends a reconcile and decides by its fault when it is retried.
func (e *entity) end(ctx workflow.Context, started time.Time, f fault.Fault) {
	e.endPart(ctx, started)
	now := workflow.Now(ctx)
	e.retryAt, e.fault = time.Time{}, f
	if f.IsZero() {
		e.attempt = 0
		return
	}
	e.attempt++
	if wait, again := pace.Backoff(f, e.attempt, e.id); again {
		e.retryAt = now.Add(wait)
	}
}

// wake returns when this entity has to act next: the earlier of its pending kicks and its own retry.
func (e *entity) wake(now time.Time) (time.Time, bool) {
	due, pending := e.pace.Due(now, e.box.Pending)
	if later, waits := e.pace.Due(now, e.box.Later); waits && (!pending || later.Before(due)) {
		due, pending = later, true
	}
	if !e.retryAt.IsZero() && (!pending || e.retryAt.Before(due)) {
		return e.retryAt, true
	}
	return due, pending
}

// laterDue reports whether the time of a kick that waited has come.
func (e *entity) laterDue(now time.Time) bool {
	due, waits := e.pace.Due(now, e.box.Later)
	return waits && !due.After(now)
}

// isDue reports whether there is something to act on now.
func (e *entity) isDue(ctx workflow.Context) bool {
	now := workflow.Now(ctx)
	due, waits := e.wake(now)
	return waits && !due.After(now)
}

// sleep waits until the entity is due, or until also is true. A kick that does not make the entity due earlier leaves the
// timer as it is: a new timer for each kick would cost two events of history.
func (e *entity) sleep(ctx workflow.Context, waitingFor string, also func() bool) error {
	now := workflow.Now(ctx)
	due, waits := e.wake(now)
	if waits && !due.After(now) {
		return nil
	}
	condition := func() bool {
		e.drain()
		next, pending := e.wake(workflow.Now(ctx))
		return also() || (pending && (!waits || next.Before(due)))
	}
	if !waits {
		return workflow.Await(ctx, condition)
	}
	return attempts.For(ctx, due.Sub(now), fault.Shorten(waitingFor, attempts.MaxSummary), condition)
}

// awaitUnless waits for the end of an activity that writes, and cancels it if something came in that must not wait for it. It
// waits for the end of a cancelled activity too, so that nothing else writes at the same time.
func (e *entity) awaitUnless(ctx workflow.Context, future workflow.Future, cancel func(), interrupted func() bool) error {
	for !future.IsReady() {
		if err := workflow.Await(ctx, func() bool { return future.IsReady() || e.arrived() }); err != nil {
			return err
		}
		e.drain()
		if interrupted() {
			cancel()
			if err := workflow.Await(ctx, future.IsReady); err != nil {
				return err
			}
		}
	}
	return nil
}

// do takes a step that is usually short: see attempts.Local. A cluster that did not answer last time is not asked while a
// workflow task waits for it.
func (e *entity) do(ctx workflow.Context, queue, summary string, answer, activity, input any) error {
	return e.local.Do(ctx, attempts.Step{
		Queue: queue, Summary: summary, Activity: activity, Input: input, Answer: answer,
		Unreachable: queue == kick.RemoteQueue && e.fault.Kind == fault.Unreachable,
	})
}
