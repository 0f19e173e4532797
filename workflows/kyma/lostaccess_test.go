package kyma

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// lostFixture returns a blocked Kyma that is never purged automatically. Its access Secret is missing while missing
// returns true.
func lostFixture(t *testing.T, missing func(at time.Duration) bool) *blockedFixture {
	t.Helper()
	h := newBlockedFixture(t)
	h.served(time.Second)
	noSecret := fault.New(fault.Unreachable, clusters.ReasonAccessSecretNotFound, "access secret not found")
	h.delete = func(int) (resolve.DeleteResult, error) {
		res := resolve.DeleteResult{Outcome: resolve.OutcomeDeleting}
		if h.blocked {
			res.Remaining, res.Manifests = []string{manifestRef.Name}, []kick.Ref{manifestRef}
			if missing(h.since()) {
				res.Access, res.WithoutAccess = fault.Of(noSecret), res.Manifests
			}
		}
		return res, nil
	}
	h.cleanup = func(int) (syncing.Result, error) {
		if missing(h.since()) {
			return syncing.Result{}, noSecret
		}
		return syncing.Result{Outcome: syncing.OutcomeClean}, nil
	}
	return h
}

func always(time.Duration) bool { return true }

func TestAfterTwoReadsWithoutAccessSecretTheModulesAreReleasedAndThenTheKyma(t *testing.T) {
	h := lostFixture(t, always)
	h.run(t)
	require.GreaterOrEqual(t, h.sentAt, 2*time.Minute, "one read is not enough")
	require.Less(t, h.sentAt, 2*time.Minute+5*time.Second, "a check is planned for the second read")
	require.Less(t, h.goneAt-h.sentAt, 5*time.Second, "the Kyma does not wait for the Secret again")
	require.Contains(t, h.abandoned, "remain in the remote cluster: its access Secret is gone")
	require.Equal(t, 1, h.count("purge"))
	last := h.reports[len(h.reports)-1]
	require.Equal(t, clusters.ReasonAccessSecretNotFound, last.Faults[fault.PartSync].Reason)
	require.Contains(t, last.Waiting, "the access Secret is gone, modules are released: "+manifestRef.Name)
}

func TestAnAccessSecretThatReturnsBetweenTwoReadsReleasesNothing(t *testing.T) {
	h := lostFixture(t, func(at time.Duration) bool {
		return at < 90*time.Second || at > time.Hour && at < time.Hour+90*time.Second
	})
	for _, at := range []time.Duration{100 * time.Second, time.Hour + time.Second, time.Hour + 100*time.Second} {
		kickAt(h.env, at, kick.Kick{Reason: "Secret changed", Urgent: true})
	}
	h.env.RegisterDelayedCallback(func() {
		require.Zero(t, h.count("admit purge"))
		h.blocked = false
	}, 3*time.Hour)
	h.run(t)
	require.Empty(t, h.abandoned)
}

func TestModulesThatNeedNoAccessAreRemovedInOrderWithoutAccessSecret(t *testing.T) {
	h := lostFixture(t, always)
	here := kick.Ref{Namespace: "kcp-system", Name: "demo-here", UID: "here-uid"}
	left, answer := true, h.delete
	h.delete = func(n int) (resolve.DeleteResult, error) {
		res, err := answer(n)
		if left {
			res.Remaining, res.Manifests = append(res.Remaining, here.Name), append(res.Manifests[:len(res.Manifests):len(res.Manifests)], here)
		}
		return res, err
	}
	served := h.purge
	h.purge = func(n int, in purge.Input) (purge.Result, error) {
		require.Equal(t, manifestRef, in.Ref)
		return served(n, in)
	}
	h.env.RegisterDelayedCallback(func() {
		require.Equal(t, 1, h.count("admit purge"))
		require.False(t, h.blocked)
		left = false
	}, 5*time.Hour)
	h.run(t)
	require.Equal(t, 1, h.count("purge"))
	require.Greater(t, h.goneAt, 5*time.Hour)
	require.NotEmpty(t, h.abandoned)
}

func TestAPurgeOfAllModulesIsAdmittedAgainAfterAPurgeOfModulesWithoutAccess(t *testing.T) {
	h := lostFixture(t, always)
	h.purge = func(int, purge.Input) (purge.Result, error) {
		if h.blocked = h.count("admit purge") < 2; h.blocked {
			return purge.Result{}, fault.New(fault.Transient, "X", "fails")
		}
		return purge.Result{Outcome: manifests.OutcomeRemoved}, nil
	}
	answer := h.delete
	h.delete = func(n int) (resolve.DeleteResult, error) {
		res, err := answer(n)
		res.PurgeAt = h.deleted.Add(150 * time.Second)
		res.PurgeDue = !h.env.Now().Before(res.PurgeAt)
		return res, err
	}
	h.run(t)
	require.Equal(t, 2, h.count("admit purge"))
}
