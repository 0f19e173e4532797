// Package entity is the engine of workflows that work for one resource, such as a Kyma. It receives kicks, decides
// when to act on them, retries failed steps, answers updates, sleeps, and ends runs.
//
// An Entity has the kicks, pace and retries of one thing that a workflow works for: the resource itself, or one
// module of a Kyma. A Run is one run of a workflow. A workflow with a single kind of step calls Run.Loop. A workflow
// with several kinds of steps has its own loop:
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
// What must stay true:
//
// - A kick that arrives after Start causes one more reconcile.
// - Nothing is lost when a run ends: pending kicks go to the next run.
// - Only ContinueAsNew and MayComplete end a run without an error.
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

// Carry is the state that an entity carries from run to run. It only ever gains fields: the previous release must be
// able to read it.
type Carry struct {
	Pending mailbox.Pending `json:"pending,omitzero"`
	// Later holds the kicks with a NotBefore in the future.
	Later mailbox.Pending `json:"later,omitzero"`
	Pace  pace.Pace       `json:"pace,omitzero"`
	// Attempt counts failed reconciles in a row.
	Attempt int `json:"attempt,omitempty"`
	// RetryAt is when to retry a failed reconcile. It is zero if only a kick can help.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Fault is the last fault.
	Fault fault.Fault `json:"fault,omitzero"`
	// Since is when a watcher saw the oldest change that is not applied yet. It is zero if there is none.
	Since time.Time `json:"since,omitzero"`
}

// Entity is something that a workflow works for at its own pace: a Kyma or one of its modules.
type Entity struct {
	Ref kick.Ref
	// ID spreads the retries of entities that fail together.
	ID string
	// Post receives the signals of the run, and Box holds the kicks for this entity.
	Post *mailbox.Mailbox
	Box  *mailbox.Box
	Pace pace.Pace
	// Local bounds the local attempts of the current workflow task. All entities of the run share it.
	Local *attempts.Local
	// Urgent is true if an urgent kick asked for the current reconcile, or for the last one if none is running.
	Urgent bool
	// Background is true while no user waits for the current reconcile.
	Background bool

	Attempt int
	RetryAt time.Time
	Fault   fault.Fault
	// Since is when a watcher saw the oldest change that this entity has not acted on successfully. Only metrics use
	// it.
	Since time.Time

	// reason says why the current reconcile was started. Only people read it.
	reason string

	// Started and Ended count reconciles and parts of reconciles.
	Started, Ended int
}

// Restore restores the state that an earlier run carried.
func (e *Entity) Restore(carry Carry) {
	e.Box.Pending, e.Box.Later = carry.Pending, carry.Later
	e.Pace, e.Attempt, e.RetryAt, e.Fault, e.Since = carry.Pace, carry.Attempt, carry.RetryAt, carry.Fault, carry.Since
}

// Carried returns the state for the next run.
func (e *Entity) Carried() Carry {
	return Carry{
		Pending: e.Box.Pending, Later: e.Box.Later, Pace: e.Pace, Attempt: e.Attempt, RetryAt: e.RetryAt, Fault: e.Fault, Since: e.Since,
	}
}

// Drain sorts new signals into their boxes and marks this entity's kicks as read.
func (e *Entity) Drain() {
	e.Post.Sort()
	e.Box.Read()
}

// Arrived reports whether a signal, or a kick for this entity, arrived since Drain.
func (e *Entity) Arrived() bool { return e.Post.Received() || e.Box.Unread() }

// Start starts a reconcile. A kick that arrives from now on causes one more.
func (e *Entity) Start(ctx workflow.Context) (mailbox.Pending, time.Time) {
	e.Started++
	e.Drain()
	pending := e.Box.Take()
	e.setReason(pending)
	e.Urgent, e.Since = pending.Urgent, kick.Earliest(e.Since, pending.Since)
	e.Background = pending.Count > 0 && !pending.Urgent
	return pending, workflow.Now(ctx)
}

// BeginPart starts a part of a reconcile, such as a report. Kicks with a NotBefore in the future keep waiting.
func (e *Entity) BeginPart(ctx workflow.Context) (mailbox.Pending, time.Time) {
	e.Started++
	e.Drain()
	pending := e.Box.TakeDue()
	e.setReason(pending)
	e.Urgent, e.Background = pending.Urgent, false
	return pending, workflow.Now(ctx)
}

// setReason records why a reconcile starts.
func (e *Entity) setReason(pending mailbox.Pending) {
	e.reason = pending.Reason
	if e.reason == "" && !e.Fault.IsZero() {
		e.reason = "again after " + e.Fault.Reason
	}
}

// Why appends the reason of the current reconcile to the summary of a step.
func (e *Entity) Why(summary string) string {
	if e.reason != "" {
		summary += ": " + e.reason
	}
	return fault.Shorten(summary, attempts.MaxSummary)
}

// EndPart ends a part of a reconcile. It does not change the retry of a whole one.
func (e *Entity) EndPart(ctx workflow.Context, started time.Time) {
	e.Ended = e.Started
	e.Pace = e.Pace.After(started, workflow.Now(ctx), e.Urgent)
}

// EndStep ends a reconcile in which every step so far succeeded. It does not reset Attempt before the next step
// succeeds too. Otherwise a module that can be applied but not read would be applied forever without backoff.
func (e *Entity) EndStep(ctx workflow.Context, started time.Time) {
	e.EndPart(ctx, started)
	e.RetryAt, e.Fault = time.Time{}, fault.Fault{}
}

// End ends a reconcile. The fault decides when to retry it.
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

// Wake returns when this entity has to act next: at its earliest kick or at its retry. It returns false if neither is
// pending.
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

// LaterDue reports whether a kick's NotBefore has passed.
func (e *Entity) LaterDue(now time.Time) bool {
	due, waits := e.Pace.Due(now, e.Box.Later)
	return waits && !due.After(now)
}

// IsDue reports whether the entity has to act now.
func (e *Entity) IsDue(ctx workflow.Context) bool {
	now := workflow.Now(ctx)
	due, waits := e.Wake(now)
	return waits && !due.After(now)
}

// Sleep waits until the entity is due or also returns true. A kick that does not make the entity due earlier does not
// restart the timer: a new timer per kick would cost two events of history each.
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

// AwaitUnless waits for a writing activity to end. It cancels the activity once interrupted returns true. It waits
// for a canceled activity to end too, so that nothing else writes at the same time.
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

// Do takes a step that is usually short (attempts.Local.Do). If the cluster did not answer last time, no workflow
// task waits for it.
func (e *Entity) Do(ctx workflow.Context, queue, summary string, answer, activity, input any) error {
	return e.Local.Do(ctx, attempts.Step{
		Queue: queue, Summary: e.Why(summary), Activity: activity, Input: input, Answer: answer,
		Unreachable: queue == kick.RemoteQueue && e.Fault.Kind == fault.Unreachable,
	})
}
