// Package entity is the engine of the workflows that work for one resource, such as a Kyma: it receives kicks, decides when they are
// acted on, retries what failed, answers updates, sleeps, and ends runs. An Entity has the kicks, pace and retries of what is worked
// for: of the resource, or of one of a Kyma's modules. A Run is one run of such a workflow. One
// that takes a single kind of step lives in Run.Loop; one with several has a loop of its own:
//
//	for {
//		r.Drain()
//		switch r.next(ctx) { // a pure decision
//		case stepReconcile:
//			pending, started := r.Start(ctx)
//			err := r.Do(ctx, ...) // a step
//			r.End(ctx, started, fault.FromTemporal(err))
//		case stepSleep:
//			err = r.Rest(ctx, "a change", nil)
//		...
//
// What must stay true: a kick that comes in after Start means one more reconcile. Nothing is lost when a run ends, since what is
// pending is carried to the next.
package entity

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
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

// Entity is what a workflow works for at its own pace, such as a Kyma or one of its modules.
type Entity struct {
	Ref kick.Ref
	// ID spreads the retries of many entities.
	ID string
	// Post receives the signals of the run, and Box holds the kicks for this entity.
	Post *mailbox.Mailbox
	Box  *mailbox.Box
	Pace pace.Pace
	// Local bounds the local attempts of the present workflow task, which all entities of the run share.
	Local *attempts.Local
	// Urgent is true if an urgent kick asked for the present reconcile, or for the last one.
	Urgent bool
	// Background is true while nobody waits for the present reconcile.
	Background bool

	Attempt int
	RetryAt time.Time
	Fault   fault.Fault
	// Since is when a watcher saw the oldest change that this entity has not acted on with success. It is measured only.
	Since time.Time

	// reason is why the present reconcile was started, for people.
	reason string

	// Started and Ended count reconciles, and parts of them.
	Started, Ended int
}

// Restore continues with what an earlier run carried.
func (e *Entity) Restore(carry Carry) {
	e.Box.Pending, e.Box.Later = carry.Pending, carry.Later
	e.Pace, e.Attempt, e.RetryAt, e.Fault, e.Since = carry.Pace, carry.Attempt, carry.RetryAt, carry.Fault, carry.Since
}

// Carried returns what the next run continues with.
func (e *Entity) Carried() Carry {
	return Carry{
		Pending: e.Box.Pending, Later: e.Box.Later, Pace: e.Pace, Attempt: e.Attempt, RetryAt: e.RetryAt, Fault: e.Fault, Since: e.Since,
	}
}

// Drain sorts the signals that came in, and marks those for this entity as read.
func (e *Entity) Drain() {
	e.Post.Sort()
	e.Box.Read()
}

// Arrived reports whether a signal or a kick for this entity came in since Drain.
func (e *Entity) Arrived() bool { return e.Post.Received() || e.Box.Unread() }

// Start starts a reconcile. A kick that comes in from now on means one more.
func (e *Entity) Start(ctx workflow.Context) (mailbox.Pending, time.Time) {
	e.Started++
	e.Drain()
	pending := e.Box.Take()
	e.setReason(pending)
	e.Urgent, e.Since = pending.Urgent, kick.Earliest(e.Since, pending.Since)
	e.Background = pending.Count > 0 && !pending.Urgent
	return pending, workflow.Now(ctx)
}

// BeginPart starts a part of a reconcile, such as a report. Kicks that wait for their time keep waiting.
func (e *Entity) BeginPart(ctx workflow.Context) (mailbox.Pending, time.Time) {
	e.Started++
	e.Drain()
	pending := e.Box.TakeDue()
	e.setReason(pending)
	e.Urgent, e.Background = pending.Urgent, false
	return pending, workflow.Now(ctx)
}

// setReason notes why a reconcile starts.
func (e *Entity) setReason(pending mailbox.Pending) {
	e.reason = pending.Reason
	if e.reason == "" && !e.Fault.IsZero() {
		e.reason = "again after " + e.Fault.Reason
	}
}

// Why adds the reason of the present reconcile to the summary of a step.
func (e *Entity) Why(summary string) string {
	if e.reason != "" {
		summary += ": " + e.reason
	}
	return fault.Shorten(summary, attempts.MaxSummary)
}

// EndPart ends a part of a reconcile. It does not change when a whole one is retried.
func (e *Entity) EndPart(ctx workflow.Context, started time.Time) {
	e.Ended = e.Started
	e.Pace = e.Pace.After(started, workflow.Now(ctx), e.Urgent)
}

// EndStep ends a reconcile of which every step so far succeeded. Failed attempts still count until the next step succeeds too:
// otherwise a module that can be applied but not read would be applied for ever.
func (e *Entity) EndStep(ctx workflow.Context, started time.Time) {
	e.EndPart(ctx, started)
	e.RetryAt, e.Fault = time.Time{}, fault.Fault{}
}

// End ends a reconcile and decides by its fault when it is retried.
func (e *Entity) End(ctx workflow.Context, started time.Time, f fault.Fault) {
	e.EndPart(ctx, started)
	now := workflow.Now(ctx)
	e.RetryAt, e.Fault = time.Time{}, f
	if f.IsZero() {
		e.Attempt = 0
		return
	}
	e.Attempt++
	if wait, again := pace.Backoff(f, e.Attempt, e.ID); again {
		e.RetryAt = now.Add(wait)
	}
}

// Wake returns when this entity has to act next: the earlier of its pending kicks and its own retry.
func (e *Entity) Wake(now time.Time) (time.Time, bool) {
	due, pending := e.Pace.Due(now, e.Box.Pending)
	if later, waits := e.Pace.Due(now, e.Box.Later); waits && (!pending || later.Before(due)) {
		due, pending = later, true
	}
	if !e.RetryAt.IsZero() && (!pending || e.RetryAt.Before(due)) {
		return e.RetryAt, true
	}
	return due, pending
}

// LaterDue reports whether the time of a kick that waited has come.
func (e *Entity) LaterDue(now time.Time) bool {
	due, waits := e.Pace.Due(now, e.Box.Later)
	return waits && !due.After(now)
}

// IsDue reports whether there is something to act on now.
func (e *Entity) IsDue(ctx workflow.Context) bool {
	now := workflow.Now(ctx)
	due, waits := e.Wake(now)
	return waits && !due.After(now)
}

// Sleep waits until the entity is due, or until also is true. A kick that does not make the entity due earlier leaves the
// timer as it is: a new timer for each kick would cost two events of history.
func (e *Entity) Sleep(ctx workflow.Context, waitingFor string, also func() bool) error {
	now := workflow.Now(ctx)
	due, waits := e.Wake(now)
	if waits && !due.After(now) {
		return nil
	}
	condition := func() bool {
		e.Drain()
		next, pending := e.Wake(workflow.Now(ctx))
		return also() || (pending && (!waits || next.Before(due)))
	}
	if !waits {
		return workflow.Await(ctx, condition)
	}
	return attempts.For(ctx, due.Sub(now), fault.Shorten(waitingFor, attempts.MaxSummary), condition)
}

// AwaitUnless waits for the end of an activity that writes, and cancels it if something came in that must not wait for it. It
// waits for the end of a cancelled activity too, so that nothing else writes at the same time.
func (e *Entity) AwaitUnless(ctx workflow.Context, future workflow.Future, cancel func(), interrupted func() bool) error {
	for !future.IsReady() {
		if err := workflow.Await(ctx, func() bool { return future.IsReady() || e.Arrived() }); err != nil {
			return err
		}
		e.Drain()
		if interrupted() {
			cancel()
			if err := workflow.Await(ctx, future.IsReady); err != nil {
				return err
			}
		}
	}
	return nil
}

// Do takes a step that is usually short: see attempts.Local. A cluster that did not answer last time is not asked while a
// workflow task waits for it.
func (e *Entity) Do(ctx workflow.Context, queue, summary string, answer, activity, input any) error {
	return e.Local.Do(ctx, attempts.Step{
		Queue: queue, Summary: e.Why(summary), Activity: activity, Input: input, Answer: answer,
		Unreachable: queue == kick.RemoteQueue && e.Fault.Kind == fault.Unreachable,
	})
}
