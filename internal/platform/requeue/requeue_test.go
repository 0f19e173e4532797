package requeue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/requeue"
)

func TestWritesAreCountedInACountingContext(t *testing.T) {
	requeue.Wrote(t.Context(), requeue.KymaInitialState)

	var counted []requeue.Reason
	ctx := requeue.Counting(t.Context(), func(r requeue.Reason) { counted = append(counted, r) })
	requeue.Wrote(ctx, requeue.KymaInitialState)
	requeue.RecordedRef(ctx, "", "")
	requeue.RecordedRef(ctx, "", "a")
	requeue.RecordedRef(ctx, "a", "a")
	requeue.RecordedRef(ctx, "a", "b")
	require.Equal(t, []requeue.Reason{requeue.KymaInitialState, requeue.ManifestFirstRef, requeue.ManifestOtherRef}, counted)
}
