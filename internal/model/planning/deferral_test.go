package planning

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// putOff is a plan for a Kyma with keda 1.0.0. Version 1.1.0 was released to it at noon, and the Kyma defers it for
// three days. Its plan allows two.
func putOff(now time.Time, end v1beta2.DeferralEnd) *setup {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	r := leg(2, "1.0.0", "1.1.0", 1)
	r.Spec.Plan.Deferral = &v1beta2.RolloutDeferralRule{Within: metav1.Duration{Duration: 48 * time.Hour}, AtEnd: end}
	r.Status.Stages = []v1beta2.RolloutStageStatus{{FirstReleasedAt: &metav1.Time{Time: noon}}}
	s := rollingOut(r, installed("keda", "1.0.0"))
	s.kyma.Annotations[shared.AnnotationDeferUpgradesUntil] = "keda=2026-03-05T12:00:00Z"
	s.now = now
	return s
}

func TestAnUpgradeThatItsOwnerDeferredWaits(t *testing.T) {
	end := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	got := putOff(end.Add(-47*time.Hour), "").keda(t)
	require.Equal(t, ActionKeep, got.Action)
	require.Equal(t, &Deferred{
		Until: end, Next: end.Add(-24 * time.Hour), Message: "the upgrade to version 1.1.0 is put off until 2026-03-04T12:00:00Z",
	}, got.Deferred)

	got = putOff(end.Add(-24*time.Hour), "").keda(t)
	require.Equal(t, ActionKeep, got.Action)
	require.Equal(t, &Deferred{
		Until: end, Next: end, Message: "the upgrade to version 1.1.0 is put off until 2026-03-04T12:00:00Z: it begins within a day",
	}, got.Deferred, "the owner is notified a day before")

	got = putOff(end, "").keda(t)
	require.Equal(t, ActionUpdate, got.Action)
	require.Nil(t, got.Deferred)
	require.Equal(t, "1.1.0", got.Manifest.Spec.Version)
}

func TestAfterItsDeferralAnUpgradeWaitsForAWindowIfThePolicySaysSo(t *testing.T) {
	end := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	s := putOff(end, v1beta2.DeferralWindow)
	s.window = func() Wait { return Wait{Next: end.Add(time.Hour)} }
	got := s.keda(t)
	require.Equal(t, ActionKeep, got.Action)
	require.NotNil(t, got.Window)

	s = putOff(end, "")
	s.window = func() Wait { return Wait{Next: end.Add(time.Hour)} }
	require.Equal(t, ActionUpdate, s.keda(t).Action)
}

func TestOnlyUpgradesAreDeferred(t *testing.T) {
	now := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	first := putOff(now, "")
	first.manifests = nil
	require.Equal(t, ActionCreate, first.keda(t).Action)

	back := putOff(now, "")
	back.manifests = []*v1beta2.Manifest{installed("keda", "1.1.0")}
	back.rollouts[1].Status.Stage, back.rollouts[1].Status.Reverts = 0, true
	got := back.keda(t)
	require.Equal(t, ActionUpdate, got.Action, "it is reverted at once")
	require.Equal(t, "1.0.0", got.Manifest.Spec.Version)

	edited := putOff(now, "")
	edited.kyma.Annotations[shared.AnnotationDeferUpgradesUntil] = "soon"
	require.Equal(t, ActionUpdate, edited.keda(t).Action, "an invalid annotation defers nothing")
}

func TestTheAnnotationOfTheRemoteKymaDefersUpgrades(t *testing.T) {
	now := time.Date(2026, 3, 2, 13, 0, 0, 0, time.UTC)
	s := putOff(now, "")
	s.kyma.Status.Remote = &v1beta2.RemoteStatus{UID: "remote", Channel: "regular", Modules: s.kyma.Spec.Modules, Generation: v1beta2.SyncGenerationDefault}
	require.Equal(t, ActionUpdate, s.keda(t).Action, "the annotation in the control plane does not count")
	s.kyma.Status.Remote.DeferUpgradesUntil = "2026-03-03T12:00:00Z"
	require.NotNil(t, s.keda(t).Deferred)
}

func TestTheEndOfADeferralIsSpread(t *testing.T) {
	d := newDeferred("1.1.0", time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC))
	require.Equal(t, d.Until, d.Turn("a", 0))
	turn := d.Turn("a", 5*time.Minute)
	require.WithinRange(t, turn, d.Until, d.Until.Add(5*time.Minute))
	require.NotEqual(t, turn, d.Turn("b", 5*time.Minute))
}
