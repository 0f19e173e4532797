// Package fault classifies the errors of work on a cluster, and carries the classification from activities to
// workflows.
//
// The code that understands an error classifies it once, with New or an Error literal. An activity returns
// ToTemporal(err); the workflow reads the Fault with FromTemporal. Outside of workflows, Of returns the Fault. An error
// without a classification is Transient.
//
// The kinds follow docs/design/workflows-and-signals.md#faults:
//
//   - The activity retries a Transient fault.
//   - A Rejected fault is reported, and waits for a change of its input.
//   - An Unreachable cluster is not retried after some minutes.
//   - Pending is a wait, not an error.
package fault

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
)

// Kind says how an error can be handled.
type Kind string

const (
	// Transient errors may go away with a retry: network errors inside the control plane, 429, 5xx, conflicts.
	Transient Kind = "Transient"
	// Rejected errors persist until an input changes: a bad descriptor, a wrong digest, an unknown channel, a forbidden
	// downgrade, a refused kubeconfig.
	Rejected Kind = "Rejected"
	// Unreachable means that the remote cluster, or our access to it, is at fault.
	Unreachable Kind = "Unreachable"
	// Pending is a wait for something that does not exist yet. It is not an error.
	Pending Kind = "Pending"
)

// Error is an error with a kind and a reason.
type Error struct {
	Kind Kind
	// Reason is a CamelCase word for conditions and Events, e.g. "AccessSecretNotFound".
	Reason string
	// Message is for people. It names objects, never bodies or credentials. The function Message bounds it when it
	// becomes a Fault.
	Message string
	// Hint says how to fix the error; a field beside the message shows it. If it is empty, that field shows the general
	// hint for the reason.
	Hint string
	// Cause may be nil. It never gets into workflow histories.
	Cause error
	// RetryAfter is the delay before a retry of a Pending or Transient error. Zero leaves the delay to the retry
	// policy.
	RetryAfter time.Duration
	// Persistent is the fault that a Transient error becomes if all attempts of an activity fail: an API server that
	// fails once is busy, one that fails for a minute cannot be reached. Only its kind and reason are used. It may be
	// zero.
	Persistent Fault
	// SlowRetry marks a Transient error that only people can fix, outside of our inputs. An activity does not retry it;
	// a workflow retries it at the slowest rate.
	SlowRetry bool
}

// New returns an error of the given kind. The message is formatted like fmt.Errorf; an error wrapped with %w becomes
// the cause.
func New(kind Kind, reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Reason: reason, Message: Message(err.Error()), Cause: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.Message }

// WithHint returns a copy of the error with a hint, formatted like fmt.Sprintf.
func (e *Error) WithHint(format string, args ...any) *Error {
	hinted := *e
	hinted.Hint = fmt.Sprintf(format, args...)
	return &hinted
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Fault is the form of an error that workflows see.
type Fault struct {
	Kind    Kind   `json:"kind"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Hint: see Error.Hint.
	Hint string `json:"hint,omitempty"`
	// SlowRetry: see Error.SlowRetry.
	SlowRetry bool `json:"slowRetry,omitempty"`
}

// IsZero reports whether there is no fault.
func (f Fault) IsZero() bool { return f.Kind == "" }

// Of classifies an error outside of workflows. An error without a classification is Transient.
func Of(err error) Fault {
	if err == nil {
		return Fault{}
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return Fault{Kind: known.Kind, Reason: known.Reason, Message: Message(err.Error()), Hint: Message(known.Hint), SlowRetry: known.SlowRetry}
	}
	return Fault{Kind: Transient, Reason: "Error", Message: Message(err.Error())}
}

// OfPersistent classifies an error after the last retry: see Error.Persistent.
func OfPersistent(err error) Fault {
	f := Of(err)
	if known, ok := errors.AsType[*Error](err); ok && !known.Persistent.IsZero() {
		f.Kind, f.Reason = known.Persistent.Kind, known.Persistent.Reason
	}
	return f
}

// ToTemporal converts an error for return from an activity. An error that a retry cannot fix soon becomes
// non-retryable. A wait becomes benign, without error metrics and warnings, and has its own delay. Errors of Temporal
// stay as they are: a cancellation must reach the workflow as a cancellation, not as a failed step.
func ToTemporal(err error) error { return toTemporal(err, false) }

// ToTemporalAtOnce is like ToTemporal, but also stops the activity's retries of Transient errors. The workflow gets the
// error now, and retries at its own rate.
func ToTemporalAtOnce(err error) error { return toTemporal(err, true) }

func toTemporal(err error, atOnce bool) error {
	var converted *temporal.ApplicationError
	if err == nil || temporal.IsCanceledError(err) || errors.As(err, &converted) {
		return err
	}
	f := Of(err)
	// The workflow gets these details after the activity's last attempt.
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

// FromTemporal returns the fault in an activity's error, for workflows. Timeouts are Transient. A cancellation is no
// fault: check temporal.IsCanceledError first.
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
