package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/build"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/ending"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/pace"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// LogicVersion is the present version of the workflows' logic.
const LogicVersion = logic.Version

// Carry is what every entity carries from run to run. Fields are only ever added: the previous release
// must be able to read it.
type Carry struct {
	// Format is the version of the carried type.
	Format  int             `json:"format"`
	Pending mailbox.Pending `json:"pending,omitzero"`
	// Later are the kicks that wait for their time.
	Later mailbox.Pending `json:"later,omitzero"`
	Pace  pace.Pace       `json:"pace,omitzero"`
	// Attempt counts failed reconciles since the last one that succeeded.
	Attempt int `json:"attempt,omitempty"`
	// RetryAt is when a failed reconcile is retried; zero means by a kick only.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Fault is the last fault.
	Fault fault.Fault `json:"fault,omitzero"`
	// Published are the search attributes as last upserted; they stay with the workflow over runs.
	Published map[string]string `json:"published,omitempty"`
	// Since is when a watcher saw the oldest change that was not applied yet; zero where there is none.
	Since time.Time `json:"since,omitzero"`
}

// carryFormat is the present format of Carry.
const carryFormat = 1

// ReconcileResult answers the reconcile update.
type ReconcileResult struct {
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Completed is false when the reconcile did not end within the update's 30 seconds; the state is then
	// the last one known.
	Completed bool `json:"completed"`
}

// ErrTypeEnding is the type of the retryable error with which an update is refused by a run that is
// about to end; the caller repeats it and reaches the next run.
const ErrTypeEnding = ending.ErrType

// reconcileTimeout bounds how long the reconcile update waits for its reconcile.
const reconcileTimeout = 30 * time.Second

// entity is what KymaWorkflow and ManifestWorkflow have in common: identity, mailbox, and when to act.
type entity struct {
	ref   kick.Ref
	id    string
	build string
	// logic is the version of the logic that this run began with.
	logic workflow.Version
	mail  mailbox.Mailbox
	pace  pace.Pace
	local attempts.Local
	// urgent is true when the present reconcile, or the last one, was asked for by an urgent kick.
	urgent bool
	// background is true while nobody waits for the present reconcile.
	background bool

	attempt   int
	retryAt   time.Time
	fault     fault.Fault
	published map[string]string
	// since is when a watcher saw the oldest change that this entity has not acted on with success. It is measured only.
	since time.Time

	reconcilesStarted, reconcilesEnded int
	ending                             bool
	view                               view.View
}

func newEntity(ctx workflow.Context, ref kick.Ref, carry *Carry) entity {
	version := logic.Of(ctx)
	info := workflow.GetInfo(ctx)
	e := entity{logic: version, ref: ref, id: info.WorkflowExecution.ID, build: build.Of(ctx), published: map[string]string{}}
	pending, later := mailbox.Pending{}, mailbox.Pending{}
	if carry != nil {
		pending, later = carry.Pending, carry.Later
		e.pace, e.attempt, e.retryAt, e.fault, e.since = carry.Pace, carry.Attempt, carry.RetryAt, carry.Fault, carry.Since
		if carry.Published != nil {
			e.published = carry.Published
		}
	} else if version >= logic.ModuleState {
		e.published = startedWith(ctx)
	}
	e.mail = mailbox.New(ctx, pending, later, version < logic.DelaysApart)
	e.view.Of, e.view.Since = ref.String(), workflow.Now(ctx)
	return e
}

func (e *entity) carry() Carry {
	return Carry{
		Format: carryFormat, Pending: e.mail.Pending, Later: e.mail.Later, Pace: e.pace, Attempt: e.attempt,
		RetryAt: e.retryAt, Fault: e.fault, Published: e.published, Since: e.since,
	}
}

// serve registers the query and the update. state returns the state reached.
func (e *entity) serve(ctx workflow.Context, state func() (string, string)) error {
	if err := workflow.SetQueryHandler(ctx, kick.QueryStatus, func() (view.View, error) { return e.view, nil }); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, kick.UpdateReconcile,
		func(ctx workflow.Context) (ReconcileResult, error) { return e.reconcileNow(ctx, state) },
		workflow.UpdateHandlerOptions{Validator: func(workflow.Context) error { return e.refuseWhenEnding() }})
}

func (e *entity) refuseWhenEnding() error { return ending.Refuse(e.ending) }

// reconcileNow asks for a reconcile that starts from now on and waits until it has ended.
func (e *entity) reconcileNow(ctx workflow.Context, state func() (string, string)) (ReconcileResult, error) {
	wanted := e.reconcilesStarted + 1
	e.mail.Put(kick.Kick{Reason: "reconcile requested", Urgent: true})
	done := func() bool { return e.reconcilesEnded >= wanted || e.ending }
	if err := attempts.For(ctx, e.logic, reconcileTimeout, "a caller waits for a reconcile to end", done); err != nil {
		return ReconcileResult{}, err
	}
	completed := e.reconcilesEnded >= wanted
	if !completed && e.ending {
		return ReconcileResult{}, e.refuseWhenEnding()
	}
	reached, message := state()
	return ReconcileResult{State: reached, Message: message, Completed: completed}, nil
}

// begin starts a reconcile: what is pending from now on means one more.
func (e *entity) begin(ctx workflow.Context) (mailbox.Pending, time.Time) {
	e.reconcilesStarted++
	pending := e.mail.Take()
	e.urgent, e.since = pending.Urgent, kick.Earliest(e.since, pending.Since)
	e.background = pending.Count > 0 && !pending.Urgent && e.logic >= logic.Background
	return pending, workflow.Now(ctx)
}

// beginPart starts a part of a reconcile, such as a report: what waits for its time keeps waiting.
func (e *entity) beginPart(ctx workflow.Context) (mailbox.Pending, time.Time) {
	e.reconcilesStarted++
	pending := e.mail.TakeDue()
	e.urgent, e.background = pending.Urgent, false
	return pending, workflow.Now(ctx)
}

// endPart ends a part of a reconcile: it changes nothing about the retry of a whole one.
func (e *entity) endPart(ctx workflow.Context, started time.Time) {
	e.reconcilesEnded = e.reconcilesStarted
	e.pace = e.pace.After(started, workflow.Now(ctx), e.urgent && e.logic >= logic.UrgentFree)
}

// endStep ends a reconcile of which every step so far succeeded. Failed attempts still count until what follows is seen to
// succeed too: otherwise a module that can be applied but not read would be applied for ever.
func (e *entity) endStep(ctx workflow.Context, started time.Time) {
	e.endPart(ctx, started)
	e.retryAt, e.fault, e.view.LastFault = time.Time{}, fault.Fault{}, fault.Fault{}
}

// end ends a reconcile and decides what follows from its fault.
func (e *entity) end(ctx workflow.Context, started time.Time, f fault.Fault) {
	e.endPart(ctx, started)
	now := workflow.Now(ctx)
	e.retryAt = time.Time{}
	if f.IsZero() {
		e.attempt = 0
	} else {
		e.attempt++
		if wait, again := pace.Backoff(f, e.attempt, e.id); again {
			e.retryAt = now.Add(wait)
		}
	}
	e.fault = f
	e.view.LastFault = f
}

// wake is when this entity has to act next: the earlier of its pending kicks and its own retry.
func (e *entity) wake(now time.Time) (time.Time, bool) {
	due, pending := e.pace.Due(now, e.mail.Pending)
	if later, waits := e.pace.Due(now, e.mail.Later); waits && (!pending || later.Before(due)) {
		due, pending = later, true
	}
	if !e.retryAt.IsZero() && (!pending || e.retryAt.Before(due)) {
		return e.retryAt, true
	}
	return due, pending
}

// laterDue tells whether the time of what waited has come.
func (e *entity) laterDue(now time.Time) bool {
	due, waits := e.pace.Due(now, e.mail.Later)
	return waits && !due.After(now)
}

// isDue tells whether there is something to act on now.
func (e *entity) isDue(ctx workflow.Context) bool {
	now := workflow.Now(ctx)
	due, waits := e.wake(now)
	return waits && !due.After(now)
}

// mayContinue tells whether an operator's request to continue as new can be followed now.
func (e *entity) mayContinue(ctx workflow.Context) bool {
	return e.mail.Forced && workflow.AllHandlersFinished(ctx)
}

// sleep waits until the entity is due, or also is true. Kicks that do not make it due earlier leave the timer
// as it is: a timer that each kick starts anew would cost two events of history per kick.
func (e *entity) sleep(ctx workflow.Context, also func() bool) error {
	now := workflow.Now(ctx)
	due, waits := e.wake(now)
	if waits && !due.After(now) {
		return nil
	}
	condition := func() bool {
		e.mail.Drain()
		next, pending := e.wake(workflow.Now(ctx))
		return e.mayContinue(ctx) || (also != nil && also()) || (pending && (!waits || next.Before(due)))
	}
	if !waits {
		return workflow.Await(ctx, condition)
	}
	return attempts.For(ctx, e.logic, due.Sub(now), fault.Shorten(e.view.WaitingFor, attempts.MaxSummary), condition)
}

// awaitUnless waits for the end of an activity that writes, and cancels it when something came in that must not wait for
// it. A cancelled activity is waited for as well, so that nothing else writes at the same time.
func (e *entity) awaitUnless(ctx workflow.Context, future workflow.Future, cancel func(), interrupted func() bool) error {
	for !future.IsReady() {
		if err := workflow.Await(ctx, func() bool { return future.IsReady() || e.mail.Arrived() }); err != nil {
			return err
		}
		e.mail.Drain()
		if interrupted() {
			cancel()
			if err := workflow.Await(ctx, future.IsReady); err != nil {
				return err
			}
		}
	}
	return nil
}
