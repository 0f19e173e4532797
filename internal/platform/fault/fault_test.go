package fault

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
)

func TestAWorkflowSeesTheFaultOfAnError(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err      error
		want     Fault
		retried  bool
		isBenign bool
	}{
		"not classified":        {err: errors.New("boom"), want: Fault{Kind: Transient, Reason: "Error", Message: "boom"}, retried: true},
		"it cannot succeed":     {err: New(Rejected, "DigestMismatch", "not %s", "it"), want: Fault{Kind: Rejected, Reason: "DigestMismatch", Message: "not it"}},
		"slow retry":            {err: &Error{Kind: Transient, Reason: "LayerNotFound", Message: "gone", SlowRetry: true}, want: Fault{Kind: Transient, Reason: "LayerNotFound", Message: "gone", SlowRetry: true}},
		"the cluster is silent": {err: New(Unreachable, "UnreachableTimeout", "timed out"), want: Fault{Kind: Unreachable, Reason: "UnreachableTimeout", Message: "timed out"}},
		"still pending":         {err: New(Pending, "Waiting", "not ready"), want: Fault{Kind: Pending, Reason: "Waiting", Message: "not ready"}, retried: true, isBenign: true},
		"it keeps failing":      {err: fmt.Errorf("read a: %w", &Error{Kind: Transient, Reason: "ServerFailed", Message: "503", Persistent: Fault{Kind: Unreachable, Reason: "UnreachableServerFailed"}}), want: Fault{Kind: Unreachable, Reason: "UnreachableServerFailed", Message: "read a: 503"}, retried: true},
		"wrapped error":         {err: fmt.Errorf("apply a/b: %w", New(Rejected, "Invalid", "no")), want: Fault{Kind: Rejected, Reason: "Invalid", Message: "apply a/b: no"}},
		"converted twice":       {err: ToTemporal(New(Rejected, "Invalid", "no")), want: Fault{Kind: Rejected, Reason: "Invalid", Message: "no"}},
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

func TestRetryAfterBecomesTheNextRetryDelay(t *testing.T) {
	t.Parallel()
	var app *temporal.ApplicationError
	require.ErrorAs(t, ToTemporal(&Error{Kind: Pending, Message: "later", RetryAfter: time.Minute}), &app)
	require.Equal(t, time.Minute, app.NextRetryDelay())
}

func TestACancellationStaysACancellation(t *testing.T) {
	t.Parallel()
	require.True(t, temporal.IsCanceledError(ToTemporal(temporal.NewCanceledError())))
	require.True(t, temporal.IsCanceledError(ToTemporal(fmt.Errorf("apply a/b: %w", temporal.NewCanceledError()))))
}

func TestTheCauseStaysOutOfHistories(t *testing.T) {
	t.Parallel()
	secret := errors.New("token=abc")
	converted := ToTemporal(&Error{Kind: Transient, Reason: "R", Message: "the request failed", Cause: secret})
	require.NotErrorIs(t, converted, secret)
	require.NotContains(t, converted.Error(), "abc")
}
