package memo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/memo"
)

func TestAValueIsKeptForAWhileAndErrorsAreNot(t *testing.T) {
	now, reads := time.Unix(1, 0), 0
	var failure error
	v := memo.New[int](10*time.Second, func() time.Time { return now })
	get := func() (int, error) {
		return v.Get(t.Context(), func(context.Context) (int, error) { reads++; return reads, failure })
	}
	requireGot := func(want int) {
		t.Helper()
		got, err := get()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	failure = errors.New("no connection")
	_, err := get()
	require.ErrorIs(t, err, failure)
	failure = nil
	requireGot(2)
	now = now.Add(10*time.Second - 1)
	requireGot(2)
	now = now.Add(1)
	requireGot(3)
	v.Set(7)
	requireGot(7)
	now = now.Add(-time.Hour)
	requireGot(4) // the clock went back
}
