package fault

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
)

func TestWhatAWorkflowSeesOfAnError(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err      error
		want     Fault
		retried  bool
		isBenign bool
	}{
		"nobody classified it":  {err: errors.New("boom"), want: Fault{Transient, "Error", "boom"}, retried: true},
		"it cannot succeed":     {err: New(Rejected, "DigestMismatch", "not %s", "it"), want: Fault{Rejected, "DigestMismatch", "not it"}},
		"nobody answers":        {err: New(Unreachable, "UnreachableTimeout", "timed out"), want: Fault{Unreachable, "UnreachableTimeout", "timed out"}},
		"it is not there yet":   {err: New(Pending, "Waiting", "not ready"), want: Fault{Pending, "Waiting", "not ready"}, retried: true, isBenign: true},
		"it fails for a while":  {err: fmt.Errorf("read a: %w", &Error{Kind: Transient, Reason: "ServerFailed", Message: "503", Lasting: Fault{Kind: Unreachable, Reason: "UnreachableServerFailed"}}), want: Fault{Unreachable, "UnreachableServerFailed", "read a: 503"}, retried: true},
		"what is around stays":  {err: fmt.Errorf("apply a/b: %w", New(Rejected, "Invalid", "no")), want: Fault{Rejected, "Invalid", "apply a/b: no"}},
		"it is converted twice": {err: ToTemporal(New(Rejected, "Invalid", "no")), want: Fault{Rejected, "Invalid", "no"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			converted := ToTemporal(tc.err)
			require.Equal(t, tc.want, FromTemporal(converted))
			var app *temporal.ApplicationError
			require.ErrorAs(t, converted, &app)
			require.Equal(t, tc.retried, !app.NonRetryable())
			require.Equal(t, tc.isBenign, app.Category() == temporal.ApplicationErrorCategoryBenign)
		})
	}
	require.NoError(t, ToTemporal(nil))
	require.True(t, FromTemporal(nil).IsZero())
}

func TestAnErrorSaysWhenItIsToBeLookedAtAgain(t *testing.T) {
	t.Parallel()
	var app *temporal.ApplicationError
	require.ErrorAs(t, ToTemporal(&Error{Kind: Pending, Message: "later", RetryAfter: time.Minute}), &app)
	require.Equal(t, time.Minute, app.NextRetryDelay())
}

func TestACancellationStaysOne(t *testing.T) {
	t.Parallel()
	require.True(t, temporal.IsCanceledError(ToTemporal(temporal.NewCanceledError())))
	require.True(t, temporal.IsCanceledError(ToTemporal(fmt.Errorf("apply a/b: %w", temporal.NewCanceledError()))))
}

func TestACauseIsNotCarriedIntoHistories(t *testing.T) {
	t.Parallel()
	secret := errors.New("token=abc")
	converted := ToTemporal(&Error{Kind: Transient, Reason: "R", Message: "the request failed", Cause: secret})
	require.NotErrorIs(t, converted, secret)
	require.NotContains(t, converted.Error(), "abc")
}
