package kyma

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

// pushing makes push decide how reports that write a remote copy end, depending on the time since the deletion.
func (h *blockedFixture) pushing(push func(at time.Duration) error) {
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

func (h *blockedFixture) endsAt(at time.Duration) {
	h.env.RegisterDelayedCallback(func() {
		h.blocked = false
		h.env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Manifest is gone", Urgent: true})
	}, at)
}

// goneLeaving is the result of a synchronization for a Kyma that is gone and left Manifests.
func goneLeaving(left ...kick.Ref) func(int) (syncing.Result, error) {
	return func(int) (syncing.Result, error) {
		return syncing.Result{Outcome: syncing.OutcomeGone, Left: left}, nil
	}
}

func TestTheWorkflowOfAGoneKymaEndsWhenNoManifestIsLeft(t *testing.T) {
	other := kick.Ref{Namespace: manifestRef.Namespace, Name: "demo-other-1", UID: "other-uid"}
	deleting := deletingFixture(1)
	for name, fixture := range map[string]func(*fixture){
		"found by the first synchronization": func(w *fixture) { w.sync = goneLeaving(manifestRef, other) },
		"found during the deletion": func(w *fixture) {
			w.sync, w.report = deleting.sync, deleting.report
			w.delete = func(int) (resolve.DeleteResult, error) {
				return resolve.DeleteResult{Outcome: resolve.OutcomeGone, Removing: []kick.Ref{manifestRef, other}}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := quietFixture()
			fixture(w)
			env := environment(t, w)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, 2, w.count("remove"))
			require.Zero(t, w.count("release"))
		})
	}
}

func TestARemovalTriesADeadClusterOncePerCheck(t *testing.T) {
	h := newBlockedFixture(t)
	h.pushing(func(at time.Duration) error {
		if at < 2*time.Hour {
			return fault.New(fault.Unreachable, clusters.ReasonUnreachableNetwork, "connection refused")
		}
		return nil
	})
	h.env.RegisterDelayedCallback(func() {
		require.Greater(t, len(h.reports), 5)
		reads := map[bool]int{}
		for _, in := range h.reports[1:] {
			require.Equal(t, clusters.ReasonUnreachableNetwork, in.Faults[fault.PartSync].Reason)
			reads[in.Push]++
		}
		require.Equal(t, 1, reads[false], "only the reconcile that found the cluster dead does not try it twice")
		require.Less(t, h.count("delete"), 25, "the reconciles become less frequent")
	}, 2*time.Hour)
	h.env.RegisterDelayedCallback(func() {
		last := h.reports[len(h.reports)-1]
		require.True(t, last.Push)
		require.True(t, last.Faults[fault.PartSync].IsZero(), "the cluster has answered")
		require.Equal(t, "the modules to be removed; purge at "+h.deleted.Add(h.grace).UTC().Format(time.RFC3339), workflowtest.ViewOf(t, h.env).WaitingFor)
	}, 3*time.Hour)
	h.endsAt(3 * time.Hour)
	h.run(t)
}

func TestAFailedPushDoesNotPreventLaterOnes(t *testing.T) {
	h := newBlockedFixture(t)
	failures := 0
	h.pushing(func(time.Duration) error {
		failures++
		if failures == 1 {
			return fault.New(fault.Transient, clusters.ReasonConflict, "409")
		}
		return nil
	})
	h.env.RegisterDelayedCallback(func() {
		require.GreaterOrEqual(t, failures, 2, "the push is retried within the backoff")
		for _, in := range h.reports[2:] {
			require.True(t, in.Push)
			require.True(t, in.Faults[fault.PartSync].IsZero(), "an old transient fault must not be reported")
		}
	}, 20*time.Second)
	h.endsAt(time.Minute)
	h.run(t)
}

func TestTheFirstReportOfADeletionDropsFaultsOfRequestedModules(t *testing.T) {
	h := newBlockedFixture(t)
	carry := &Carry{Reconciled: true, Deleting: true, ResolveFault: fault.Fault{Kind: fault.Rejected, Reason: "X", Message: "no such module"}}
	carry.Pending = mailbox.Pending{Count: 1, Urgent: true}
	h.blocked = false
	h.env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef, Carry: carry})
	require.NoError(t, h.env.GetWorkflowError())
	require.True(t, h.reports[0].Faults[fault.PartResolve].IsZero())
}

// restored replaces the Kyma under deletion, from a given time on, with one that was never deleted.
func (h *blockedFixture) restored(at time.Duration) {
	quiet, leaving := quietFixture(), h.delete
	h.env.RegisterDelayedCallback(func() { h.sync, h.report = quiet.sync, quiet.report }, at)
	h.delete = func(n int) (resolve.DeleteResult, error) {
		if h.since() < at {
			return leaving(n)
		}
		return resolve.DeleteResult{Outcome: resolve.OutcomeDone, Alive: true}, nil
	}
}

func TestAKymaRestoredDuringItsDeletionIsReconciledAgain(t *testing.T) {
	h := newBlockedFixture(t)
	h.restored(time.Hour)
	answer := &updateAnswer{}
	h.env.RegisterDelayedCallback(func() {
		require.Equal(t, 1, h.count("resolve"))
		require.Equal(t, "Ready", workflowtest.ViewOf(t, h.env).State)
		require.Equal(t, "a change", workflowtest.ViewOf(t, h.env).WaitingFor)
	}, 3*time.Hour)
	kickAt(h.env, 4*time.Hour, kick.Kick{Reason: "ModuleTemplate changed", Kind: "ModuleTemplate"})
	h.env.RegisterDelayedCallback(func() { require.Equal(t, 2, h.count("resolve"), "kicks reconcile the live Kyma") }, 5*time.Hour)
	h.env.RegisterDelayedCallback(func() { h.env.UpdateWorkflow(kick.UpdatePurge, "u1", answer) }, 30*time.Hour)
	endKyma(h.env, h.fixture, 48*time.Hour)
	h.env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, h.env.GetWorkflowError())
	require.Error(t, answer.err, "the Kyma is not being deleted")
	for _, step := range []string{"cleanup", "cleanup by force", "release", "admit purge", "purge"} {
		require.Zero(t, h.count(step), step)
	}
}

func TestAPurgeThatFindsTheKymaRestoredIsRefusedAndForgotten(t *testing.T) {
	h := newBlockedFixture(t)
	sync, report, remaining := h.sync, h.report, h.delete
	h.restored(time.Hour)
	answer := &updateAnswer{}
	h.env.RegisterDelayedCallback(func() { h.env.UpdateWorkflow(kick.UpdatePurge, "u1", answer) }, time.Hour+time.Second)
	deletedAgain := 2 * time.Hour
	h.env.RegisterDelayedCallback(func() {
		var refused *temporal.ApplicationError
		require.ErrorAs(t, answer.err, &refused)
		require.Equal(t, ErrTypeNotDeleting, refused.Type())
		h.sync, h.report, h.delete = sync, report, remaining
		h.env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Kyma is being deleted", Urgent: true, Deleting: true})
	}, deletedAgain)
	h.endsAt(3 * time.Hour)
	h.run(t)
	require.Zero(t, h.count("admit purge"), "the request was for the earlier deletion")
}
