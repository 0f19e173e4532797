package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// pushing makes reports that write a remote copy end as push says, at a moment of the deletion.
func (h *heldWorld) pushing(push func(at time.Duration) error) {
	h.report = func(_ int, in status.ReportInput) (status.ReportResult, error) {
		h.reports = append(h.reports, in)
		res, err := reported(shared.StateDeleting)
		if in.Push {
			failed := push(h.since())
			res.Push, res.Pushed = fault.Of(failed), failed == nil
		}
		return res, err
	}
}

func (h *heldWorld) endsAt(at time.Duration) {
	h.env.RegisterDelayedCallback(func() {
		h.held = false
		h.env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Manifest is gone", Urgent: true})
	}, at)
}

func TestARemovalKnowsThatTheClusterIsDeadAndAsksItInEachLook(t *testing.T) {
	h := newHeldWorld(t)
	h.pushing(func(at time.Duration) error {
		if at < 2*time.Hour {
			return fault.New(fault.Unreachable, clusters.ReasonUnreachableNetwork, "connection refused")
		}
		return nil
	})
	h.env.RegisterDelayedCallback(func() {
		require.Greater(t, len(h.reports), 5)
		looks := map[bool]int{}
		for _, in := range h.reports[1:] {
			require.Equal(t, clusters.ReasonUnreachableNetwork, in.Sync.Reason)
			looks[in.Push]++
		}
		require.Equal(t, 1, looks[false], "only in the look that found it dead it is not asked twice")
		require.Less(t, h.counts["delete"], 25, "the looks become fewer")
	}, 2*time.Hour)
	h.env.RegisterDelayedCallback(func() {
		last := h.reports[len(h.reports)-1]
		require.True(t, last.Push)
		require.True(t, last.Sync.IsZero(), "it has answered")
		require.Equal(t, "the modules to be removed; purge at "+h.deleted.Add(h.grace).UTC().Format(time.RFC3339), viewOf(t, h.env).WaitingFor)
	}, 3*time.Hour)
	h.endsAt(3 * time.Hour)
	h.run(t)
}

func TestOnePushThatFailsSilencesNoLaterOne(t *testing.T) {
	h := newHeldWorld(t)
	failures := 0
	h.pushing(func(time.Duration) error {
		failures++
		if failures == 1 {
			return fault.New(fault.Transient, clusters.ReasonConflict, "409")
		}
		return nil
	})
	h.env.RegisterDelayedCallback(func() {
		require.GreaterOrEqual(t, failures, 2, "it is tried again within the back-off")
		for _, in := range h.reports[2:] {
			require.True(t, in.Push)
			require.True(t, in.Sync.IsZero(), "what was busy then is not busy now")
		}
	}, 20*time.Second)
	h.endsAt(time.Minute)
	h.run(t)
}

func TestTheFirstReportOfADeletionSaysNothingOfWhatTheKymaAskedFor(t *testing.T) {
	h := newHeldWorld(t)
	carry := &KymaCarry{Looked: true, Deleting: true, ResolveFault: fault.Fault{Kind: fault.Rejected, Reason: "X", Message: "no such module"}}
	carry.Pending = Pending{Count: 1, Urgent: true}
	h.held = false
	h.env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef, Carry: carry})
	require.NoError(t, h.env.GetWorkflowError())
	require.True(t, h.reports[0].Resolve.IsZero())
}
