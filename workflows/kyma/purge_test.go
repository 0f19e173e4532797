package kyma

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/removal"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

// blockedFixture is a Kyma under deletion with one Manifest that is blocked until it is purged.
type blockedFixture struct {
	*fixture
	env *testsuite.TestWorkflowEnvironment
	// deleted is when the deletion began, grace the current grace period, orderly the value of the flag.
	deleted        time.Time
	grace, orderly time.Duration
	blocked        bool
	sentAt, goneAt time.Duration
	reports        []status.ReportInput
}

func newBlockedFixture(t *testing.T) *blockedFixture {
	t.Helper()
	h := &blockedFixture{fixture: deletingFixture(1), grace: 24 * time.Hour, orderly: 10 * time.Minute, blocked: true}
	h.env = environment(t, h.fixture)
	h.deleted = h.env.Now()
	h.delete = func(int) (resolve.DeleteResult, error) {
		at := h.deleted.Add(h.grace)
		res := resolve.DeleteResult{Outcome: resolve.OutcomeDeleting, PurgeAt: at, PurgeDue: !h.env.Now().Before(at), OrderlyFor: h.orderly}
		if h.blocked {
			res.Remaining, res.Manifests = []string{manifestRef.Name}, []kick.Ref{manifestRef}
		}
		return res, nil
	}
	h.report = func(_ int, in status.ReportInput) (status.ReportResult, error) {
		h.reports = append(h.reports, in)
		return reported(shared.StateDeleting)
	}
	h.admit = func(int) error {
		h.sentAt = h.since()
		return nil
	}
	h.release = func(int) (status.ReportResult, error) {
		h.goneAt = h.since()
		return status.ReportResult{Outcome: status.OutcomeReleased}, nil
	}
	return h
}

func (h *blockedFixture) since() time.Duration { return h.env.Now().Sub(h.deleted) }

// served makes the purge of the Manifest succeed. The Manifest is gone some time later.
func (h *blockedFixture) served(after time.Duration) {
	h.purge = func(int, purge.Input) (purge.Result, error) {
		h.env.RegisterDelayedCallback(func() {
			h.blocked = false
			h.env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Manifest is gone", Kind: "Manifest", Urgent: true})
		}, after)
		return purge.Result{Outcome: manifests.OutcomeRemoved}, nil
	}
}

func (h *blockedFixture) run(t *testing.T) {
	t.Helper()
	h.env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, h.env.GetWorkflowError())
	require.Equal(t, 1, h.count("release"))
}

func TestABlockedKymaIsPurgedAfterItsGracePeriodAndIsGoneWithinAMinute(t *testing.T) {
	h := newBlockedFixture(t)
	h.served(5 * time.Second)
	h.env.RegisterDelayedCallback(func() {
		require.Zero(t, h.count("admit purge"), "nothing is forced before the grace period ends")
		require.Equal(t, "the modules to be removed; purge at "+h.deleted.Add(24*time.Hour).UTC().Format(time.RFC3339), workflowtest.ViewOf(t, h.env).WaitingFor)
	}, 24*time.Hour-time.Second)
	h.run(t)
	require.GreaterOrEqual(t, h.sentAt, 24*time.Hour)
	require.Less(t, h.sentAt, 24*time.Hour+2*time.Second)
	require.Less(t, h.goneAt, 24*time.Hour+time.Minute)
	require.Equal(t, 1, h.count("purge"))
	require.Equal(t, 1, h.count("cleanup by force"))
	require.Zero(t, h.count("cleanup"))
	require.Empty(t, h.abandoned)
	require.True(t, h.reports[len(h.reports)-1].Purging)
}

func TestAShortenedGracePeriodCountsFromTheNextKick(t *testing.T) {
	h := newBlockedFixture(t)
	h.served(time.Second)
	h.env.RegisterDelayedCallback(func() { h.grace = 2 * time.Hour }, time.Hour)
	kickAt(h.env, time.Hour, kick.Kick{Reason: "Kyma is being deleted", Urgent: true, Deleting: true})
	h.run(t)
	require.GreaterOrEqual(t, h.sentAt, 2*time.Hour)
	require.Less(t, h.sentAt, 2*time.Hour+2*time.Second)
}

func TestAnExtendedGracePeriodIsReadWhenTheOldOneEnds(t *testing.T) {
	h := newBlockedFixture(t)
	h.served(time.Second)
	h.env.RegisterDelayedCallback(func() { h.grace = 48 * time.Hour }, 24*time.Hour-time.Second)
	h.run(t)
	require.GreaterOrEqual(t, h.sentAt, 48*time.Hour)
	require.Less(t, h.sentAt, 48*time.Hour+time.Minute)
}

func TestAnOrderlyRemovalIsTriedFirstEvenIfTheGracePeriodIsOver(t *testing.T) {
	// For example after the loss of Temporal's database, or after a day without any running instance.
	h := newBlockedFixture(t)
	h.deleted = h.deleted.Add(-48 * time.Hour)
	h.served(time.Second)
	started := h.env.Now()
	h.env.RegisterDelayedCallback(func() { require.Zero(t, h.count("admit purge")) }, 10*time.Minute-time.Second)
	h.run(t)
	orderly := h.sentAt - started.Sub(h.deleted)
	require.GreaterOrEqual(t, orderly, 10*time.Minute)
	require.Less(t, orderly, 11*time.Minute)
}

func TestAnOrderlyRemovalCountsOnlyWhileTheControlPlaneAnswers(t *testing.T) {
	h := newBlockedFixture(t)
	h.grace = 0
	h.served(time.Second)
	answer := h.delete
	h.delete = func(n int) (resolve.DeleteResult, error) {
		if at := h.since(); at > 5*time.Minute && at < 12*time.Minute {
			return resolve.DeleteResult{}, fault.New(fault.Transient, "X", "the control plane does not answer")
		}
		return answer(n)
	}
	h.run(t)
	require.Greater(t, h.sentAt, 22*time.Minute)
}

// refusing makes each reconcile fail to delete one Manifest until a given time.
func (h *blockedFixture) refusing(until func() bool) {
	answer := h.delete
	h.delete = func(n int) (resolve.DeleteResult, error) {
		res, err := answer(n)
		if !until() {
			res.Remaining = append(res.Remaining, "demo-refused")
			res.Manifests = append(res.Manifests, kick.Ref{Namespace: "kcp-system", Name: "demo-refused", UID: "refused-uid"})
			res.Fault = fault.Fault{Kind: fault.Transient, Reason: resolve.ReasonManifestsNotDeleted, Message: "delete Manifest demo-refused: denied by a policy"}
		}
		return res, err
	}
}

func TestARefusedDeletionIsReportedAndDoesNotBlockThePurgeOfOtherManifests(t *testing.T) {
	h := newBlockedFixture(t)
	h.served(time.Second)
	h.refusing(func() bool { return h.since() > 26*time.Hour })
	h.purge = func(_ int, in purge.Input) (purge.Result, error) {
		if in.Ref.Name == "demo-refused" {
			return purge.Result{Outcome: manifests.OutcomeApplied}, nil
		}
		h.blocked = false
		return purge.Result{Outcome: manifests.OutcomeRemoved}, nil
	}
	h.env.RegisterDelayedCallback(func() {
		require.Equal(t, "delete Manifest demo-refused: denied by a policy", h.reports[len(h.reports)-1].Faults[fault.PartResolve].Message)
		require.Contains(t, h.reports[len(h.reports)-1].Waiting, "demo-refused")
		require.NotZero(t, h.sentAt)
		require.Zero(t, h.count("cleanup by force"))
	}, 25*time.Hour)
	h.run(t)
	require.GreaterOrEqual(t, h.sentAt, 24*time.Hour)
	require.Less(t, h.sentAt, 24*time.Hour+5*time.Second, "the orderly removal was not interrupted")
	require.True(t, h.reports[len(h.reports)-1].Purging)
}

func TestThePurgeUpdatePurgesEvenIfOneDeletionIsRefused(t *testing.T) {
	h := newBlockedFixture(t)
	h.served(time.Second)
	h.refusing(func() bool { return h.since() > 2*time.Hour })
	answer := &updateAnswer{}
	h.env.RegisterDelayedCallback(func() { h.env.UpdateWorkflow(kick.UpdatePurge, "u1", answer) }, time.Minute)
	h.run(t)
	require.NoError(t, answer.err)
	require.Less(t, h.sentAt, time.Minute+2*time.Second)
}

func TestAnOutageOfTemporalIsNoOrderlyRemoval(t *testing.T) {
	// The planned reconcile came an hour late: nothing was running.
	h := newBlockedFixture(t)
	h.grace = 0
	h.served(time.Second)
	begin := h.env.Now()
	carry := &Carry{Reconciled: true, Deleting: true, Last: status.ReportResult{Outcome: status.OutcomeReported, State: shared.StateDeleting}}
	carry.RetryAt = begin.Add(-time.Hour)
	carry.Purge = removal.Purge{OrderlySince: begin.Add(-70 * time.Minute), Next: begin.Add(-time.Hour), OrderlyFor: 10 * time.Minute}
	h.env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef, Carry: carry})
	require.NoError(t, h.env.GetWorkflowError())
	require.GreaterOrEqual(t, h.sentAt, 10*time.Minute)
}

func TestTheDeadlineSurvivesContinueAsNew(t *testing.T) {
	h := newBlockedFixture(t)
	h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(kick.SignalContinueAsNew, nil) }, 23*time.Hour)
	h.env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	next := continued(t, h.env.GetWorkflowError())

	second := newBlockedFixture(t)
	second.env.SetStartTime(h.deleted.Add(23*time.Hour + time.Minute))
	second.deleted = h.deleted
	second.served(time.Second)
	second.env.ExecuteWorkflow(Workflow, next)
	require.NoError(t, second.env.GetWorkflowError())
	require.GreaterOrEqual(t, second.sentAt, 24*time.Hour)
	require.Less(t, second.sentAt, 24*time.Hour+5*time.Second)
}

func TestForcedObjectsAreShownAndThePurgeContinuesAtOnce(t *testing.T) {
	h := newBlockedFixture(t)
	forcedAt := time.Duration(0)
	h.purge = func(_ int, in purge.Input) (purge.Result, error) {
		require.Equal(t, purge.Input{Ref: manifestRef}, in)
		forcedAt, h.blocked = h.since(), false
		return purge.Result{Outcome: manifests.OutcomeRemoved, Forced: 3, Names: []string{"Sample a/one", "ConfigMap a/two"}}, nil
	}
	h.force = func(int, syncing.CleanupInput) (syncing.Result, error) {
		return syncing.Result{Outcome: syncing.OutcomeClean, Forced: []string{"Kyma kyma-system/default"}}, nil
	}
	h.run(t)
	view := workflowtest.ViewOf(t, h.env)
	require.Contains(t, view.Markdown(), "4 objects were forced: Sample a/one, ConfigMap a/two, Kyma kyma-system/default and 1 more")
	require.Less(t, forcedAt-h.sentAt, time.Second)
	require.Less(t, h.goneAt-forcedAt, 10*time.Second, "the Kyma needs no kick for it")
}

func TestALostClusterIsAbandonedAfterTheGracePeriodAndReported(t *testing.T) {
	h := newBlockedFixture(t)
	h.served(20 * time.Second)
	h.force = func(int, syncing.CleanupInput) (syncing.Result, error) {
		return syncing.Result{}, fault.New(fault.Unreachable, "UnreachableNetwork", "connection refused")
	}
	h.run(t)
	require.Equal(t, 3, h.count("cleanup by force"), "one failure is not enough")
	require.Contains(t, h.abandoned, "connection refused")
	require.Less(t, h.goneAt, 24*time.Hour+time.Minute)
}

func TestAPurgeRetriesARejectedCleanupAtOnce(t *testing.T) {
	h := newBlockedFixture(t)
	h.served(5 * time.Second)
	h.force = func(int, syncing.CleanupInput) (syncing.Result, error) {
		return syncing.Result{}, fault.New(fault.Rejected, "KubeconfigRejected", "exec plugins are not allowed")
	}
	h.run(t)
	require.Contains(t, h.abandoned, "exec plugins are not allowed")
	require.Less(t, h.goneAt-h.sentAt, 40*time.Second)
}

func TestACleanUpThatIsBlockedWithoutManifestsIsPurgedToo(t *testing.T) {
	h := newBlockedFixture(t)
	h.blocked = false
	h.cleanup = func(int) (syncing.Result, error) {
		return syncing.Result{}, fault.New(fault.Transient, "RemoteKymaDeleting", "waiting as other finalizers are present")
	}
	h.run(t)
	require.GreaterOrEqual(t, h.goneAt, 24*time.Hour)
	require.Less(t, h.goneAt, 24*time.Hour+time.Minute)
	require.Equal(t, 1, h.count("cleanup by force"))
}

func TestWithoutAPurgeTimeNothingIsEverForced(t *testing.T) {
	h := newBlockedFixture(t)
	h.delete = func(int) (resolve.DeleteResult, error) {
		res := resolve.DeleteResult{Outcome: resolve.OutcomeDeleting}
		if h.blocked {
			res.Remaining, res.Manifests = []string{manifestRef.Name}, []kick.Ref{manifestRef}
		}
		return res, nil
	}
	h.env.RegisterDelayedCallback(func() {
		require.Zero(t, h.count("admit purge"))
		h.blocked = false
	}, 30*24*time.Hour)
	h.run(t)
	require.Equal(t, 1, h.count("cleanup"))
}

func TestThePurgeUpdateSkipsTheGracePeriodButNotTheCheck(t *testing.T) {
	h := newBlockedFixture(t)
	h.served(time.Second)
	answer := &updateAnswer{}
	attempts := 0
	h.env.RegisterDelayedCallback(func() {
		attempts = h.count("delete")
		h.env.UpdateWorkflow(kick.UpdatePurge, "u1", answer)
	}, time.Minute)
	h.run(t)
	require.NoError(t, answer.err)
	require.True(t, answer.result.Completed)
	require.Less(t, h.sentAt, time.Minute+2*time.Second)
	require.Greater(t, h.count("delete"), attempts)
}

func TestThePurgeUpdateIsRefusedIfTheKymaIsNotBeingDeleted(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	answer := &updateAnswer{}
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(kick.UpdatePurge, "u1", answer) }, time.Hour)
	env.RegisterDelayedCallback(func() {
		var refused *temporal.ApplicationError
		require.ErrorAs(t, answer.err, &refused)
		require.Equal(t, ErrTypeNotDeleting, refused.Type())
	}, 2*time.Hour)
	endKyma(env, w, 3*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Zero(t, w.count("admit purge"))
}

func TestAPurgeForcesTheModulesThatAGoneKymaLeft(t *testing.T) {
	for name, c := range map[string]struct{ gone, at time.Duration }{
		"while the workflow removes it":        {at: time.Hour},
		"in a workflow that the update starts": {},
		"for a Kyma that a user has released":  {gone: time.Hour, at: time.Hour + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			h := newBlockedFixture(t)
			w, env := h.fixture, h.env
			w.remove, w.waitGone = waitingRemoval().remove, waitingRemoval().waitGone
			if c.gone == 0 {
				w.sync = goneLeaving(manifestRef)
			}
			deleting := w.delete
			w.delete = func(n int) (resolve.DeleteResult, error) {
				res, err := deleting(n)
				res.Removing = []kick.Ref{manifestRef}
				if h.since() >= c.gone {
					res.Outcome = resolve.OutcomeGone
				}
				return res, err
			}
			answer := &updateAnswer{}
			env.RegisterDelayedCallback(func() { env.UpdateWorkflow(kick.UpdatePurge, "u1", answer) }, c.at)
			env.RegisterDelayedCallback(func() { w.remove, w.waitGone = quietFixture().remove, quietFixture().remove }, 2*time.Hour)
			env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NoError(t, env.GetWorkflowError())
			require.NoError(t, answer.err)
			require.True(t, answer.result.Completed)
			require.Equal(t, 1, w.count("purge"))
		})
	}
}

// The purge command has read the live objects. The run may get the kick for the deletion later, or never.
func TestAPurgeUpdateBeforeTheKickForTheDeletionReadsTheKymaFirst(t *testing.T) {
	h := newBlockedFixture(t)
	h.served(time.Second)
	deleting, quiet := h.sync, quietFixture()
	report := h.report
	h.sync, h.report = quiet.sync, quiet.report
	answer := &updateAnswer{}
	h.env.RegisterDelayedCallback(func() {
		h.sync, h.report = deleting, report
		h.env.UpdateWorkflow(kick.UpdatePurge, "u1", answer)
	}, time.Hour)
	h.run(t)
	require.NoError(t, answer.err)
	require.Equal(t, 1, h.count("admit purge"))
}

func TestAPurgeUpdateThatStartsARunReadsTheKymaFirst(t *testing.T) {
	for name, deleting := range map[string]bool{"a Kyma under deletion is purged": true, "another one is refused": false} {
		t.Run(name, func(t *testing.T) {
			h := newBlockedFixture(t)
			h.served(time.Second)
			if !deleting {
				quiet := quietFixture()
				h.sync, h.report = quiet.sync, quiet.report
				endKyma(h.env, h.fixture, time.Hour)
			}
			answer := &updateAnswer{}
			h.env.RegisterDelayedCallback(func() { h.env.UpdateWorkflow(kick.UpdatePurge, "u1", answer) }, 0)
			h.env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
			require.NoError(t, h.env.GetWorkflowError())
			require.Equal(t, deleting, answer.err == nil, "%v", answer.err)
			require.Equal(t, deleting, h.count("admit purge") == 1)
		})
	}
}
