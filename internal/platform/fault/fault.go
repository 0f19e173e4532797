// Package fault classifies what goes wrong while working on a cluster, once, where it is understood,
// and carries the classification over the activity boundary.
//
// The kinds follow docs/design/workflows-and-signals.md#faults: what is transient is retried by the activity; what cannot
// succeed without a change is reported and waits for the change; a cluster that cannot be reached is
// not retried after some minutes.
package fault

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
)

// Kind says what can be done about an error.
type Kind string

const (
	// Transient errors (network inside the control plane, 429, 5xx, conflict) may go away by trying again.
	Transient Kind = "Transient"
	// Rejected cannot succeed until an input changes: bad descriptor, wrong digest, unknown channel,
	// forbidden downgrade, refused kubeconfig.
	Rejected Kind = "Rejected"
	// Unreachable means that the remote cluster or its access is at fault.
	Unreachable Kind = "Unreachable"
	// Pending is no error but a wait: what is waited for is not there yet.
	Pending Kind = "Pending"
)

// Error is an error with a kind and a reason.
type Error struct {
	Kind Kind
	// Reason is a CamelCase word for conditions and Events, e.g. "AccessSecretNotFound".
	Reason string
	// Message is for people: it names objects, never bodies or credentials. What becomes a Fault of it is bounded: see
	// the function Message.
	Message string
	// Hint, where set, says what can be done about it, for the field beside the message. Where it is empty, the
	// reason's general hint is shown.
	Hint string
	// Cause may be nil. It is not carried into workflow histories.
	Cause error
	// RetryAfter is when a Pending or Transient error should be retried; 0 means by the policy.
	RetryAfter time.Duration
	// Persistent, where set, is what a Transient error becomes when it persists after all attempts of an activity: an
	// API server that fails once is busy, one that fails for a minute cannot be reached. Only its kind and reason
	// are used.
	Persistent Fault
	// SlowRetry is true for a Transient error that only people can correct, but not in an input of ours: an activity does
	// not retry, and a workflow retries at its slowest rate.
	SlowRetry bool
}

// New returns an error of the given kind; the message is formatted like fmt.Errorf, and an error
// argument wrapped with %w becomes its cause.
func New(kind Kind, reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Reason: reason, Message: Message(err.Error()), Cause: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.Message }

// WithHint returns the error with what can be done about it, formatted like fmt.Sprintf.
func (e *Error) WithHint(format string, args ...any) *Error {
	hinted := *e
	hinted.Hint = fmt.Sprintf(format, args...)
	return &hinted
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Fault is what a workflow sees of an error.
type Fault struct {
	Kind    Kind   `json:"kind"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Hint: see Error.Hint.
	Hint string `json:"hint,omitempty"`
	// SlowRetry: see Error.SlowRetry.
	SlowRetry bool `json:"slowRetry,omitempty"`
}

// IsZero tells whether there is no fault.
func (f Fault) IsZero() bool { return f.Kind == "" }

// Of classifies an error outside of workflows. An error that nobody classified is Transient.
func Of(err error) Fault {
	if err == nil {
		return Fault{}
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return Fault{Kind: known.Kind, Reason: known.Reason, Message: Message(err.Error()), Hint: Message(known.Hint), SlowRetry: known.SlowRetry}
	}
	return Fault{Kind: Transient, Reason: "Error", Message: Message(err.Error())}
}

// OfPersistent classifies an error that is not retried: see Error.Persistent.
func OfPersistent(err error) Fault {
	f := Of(err)
	if known, ok := errors.AsType[*Error](err); ok && !known.Persistent.IsZero() {
		f.Kind, f.Reason = known.Persistent.Kind, known.Persistent.Reason
	}
	return f
}

// ToTemporal converts an error for return from an activity: what cannot succeed, or not soon, becomes non-retryable,
// a wait becomes benign (no error metrics, no warnings) with its own delay. What is Temporal's already is
// returned as it is: a cancellation must reach the workflow as one, not as a failure of the step.
func ToTemporal(err error) error { return toTemporal(err, false) }

// ToTemporalAtOnce is ToTemporal for an error that the workflow is to get now, also where another attempt of the
// activity could help: the workflow retries at its own rate.
func ToTemporalAtOnce(err error) error { return toTemporal(err, true) }

func toTemporal(err error, atOnce bool) error {
	var converted *temporal.ApplicationError
	if err == nil || temporal.IsCanceledError(err) || errors.As(err, &converted) {
		return err
	}
	f := Of(err)
	// The workflow gets it when the activity's own attempts are over.
	options := temporal.ApplicationErrorOptions{Details: []any{OfPersistent(err)}}
	if known, ok := errors.AsType[*Error](err); ok {
		options.NextRetryDelay = known.RetryAfter
	}
	switch f.Kind {
	case Rejected, Unreachable:
		options.NonRetryable = true
	case Pending:
		options.Category = temporal.ApplicationErrorCategoryBenign
	case Transient:
		options.NonRetryable = f.SlowRetry || atOnce
	}
	return temporal.NewApplicationErrorWithOptions(f.Message, f.Reason, options)
}

// FromTemporal reads in a workflow what an activity returned. Time-outs are Transient, and a
// cancellation is no fault: ask temporal.IsCanceledError first.
func FromTemporal(err error) Fault {
	if err == nil {
		return Fault{}
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		var f Fault
		if app.HasDetails() && app.Details(&f) == nil && f.Kind != "" {
			return f
		}
		return Fault{Kind: Transient, Reason: app.Type(), Message: Message(app.Message())}
	}
	if _, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		return Fault{Kind: Transient, Reason: "TimedOut", Message: "the step did not finish in time"}
	}
	return Fault{Kind: Transient, Reason: "Error", Message: Message(err.Error())}
}
