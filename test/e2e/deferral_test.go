package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/fleets"
)

// owned is the remote Kyma of one of the fleet's, as the owner of its cluster sees it.
func (s *stagedFleet) owned(t require.TestingT, kyma string) *v1beta2.Kyma {
	found := &v1beta2.Kyma{}
	require.NoError(t, s.Remote.Get(s.T.Context(), types.NamespacedName{Namespace: kyma, Name: kyma}, found))
	return found
}

// putOff has the owner of a cluster put upgrades off; an empty text ends that.
func (s *stagedFleet) putOff(kyma, until string) {
	s.T.Helper()
	s.EditRemoteKyma(s.owned(s.T, kyma), func(k *v1beta2.Kyma) {
		k.Annotations[shared.AnnotationDeferUpgradesUntil] = until
	})
}

// Owners of clusters put an upgrade off, and the next one is reverted. A fleet of its own: a Kyma whose version changes again and
// again is reconciled less often each time.
func TestOwnersPutAnUpgradeOffAndARevertTakesAllClustersBack(t *testing.T) {
	fleets.Idles(t)
	const within = 45 * time.Second
	plan := canaryFirst()
	plan.Deferral = &v1beta2.RolloutDeferralRule{Within: metav1.Duration{Duration: within}}
	s := newStagedFleet(t, 5, plan)
	t.Run("the owner of a cluster puts an upgrade off", func(t *testing.T) { s.ownersPutItOff(t, within) })
	for _, kyma := range s.kymas {
		s.BecomesReady(kyma, staged+"@1.1.0")
	}
	t.Run("a revert takes all clusters back, the last first", func(t *testing.T) { s.revertsTheLastFirst(t) })
}

// ownersPutItOff publishes 1.1.0, which two owners put off, and a third one in a way that cannot be read.
func (s *stagedFleet) ownersPutItOff(t *testing.T, within time.Duration) {
	t.Helper()
	long := time.Now().Add(1000 * time.Hour).UTC().Format(time.RFC3339)
	s.putOff("staged-1", long)
	s.putOff("staged-2", "other=2026-01-01T00:00:00Z,"+staged+"="+long)
	s.putOff("staged-3", "tomorrow")

	s.publish("1.1.0")
	done := s.reaches("1.1.0", v1beta2.RolloutCompleted)
	require.Equal(t, "3/5", done.Status.Progress, "those who put it off hold nothing up")
	require.Len(t, done.Status.Deferrals, 2)
	for _, kyma := range []string{"staged-0", "staged-3", "staged-4"} {
		require.Equal(t, "1.1.0", s.Module(kyma, staged).Version)
	}
	s.Eventually("the third owner reads what is wrong", time.Minute, func(c *assert.CollectT) {
		assert.Contains(c, s.owned(c, "staged-3").Status.LastOperation.Operation, "must be a time such as 2026-12-24T18:00:00Z")
	})
	for _, kyma := range []string{"staged-1", "staged-2"} {
		s.Eventually("the owner of "+kyma+" reads when it begins", time.Minute, func(c *assert.CollectT) {
			modules := s.owned(c, kyma).Status.Modules
			require.Len(c, modules, 1)
			assert.Equal(c, "1.0.0", modules[0].Version)
			assert.Equal(c, shared.StateReady, modules[0].State)
			assert.Contains(c, modules[0].Message, "the upgrade to version 1.1.0 is put off until ")
			assert.Contains(c, modules[0].Message, ": it begins within a day")
			require.NotNil(c, modules[0].DeferredUntil)
			assert.WithinDuration(c, time.Now(), modules[0].DeferredUntil.Time, within, "not as long as they asked for")
		})
	}

	s.putOff("staged-2", "")
	s.BecomesReady("staged-2", staged+"@1.1.0")
	s.BecomesReady("staged-1", staged+"@1.1.0")
	end := done.Status.Deferrals[0].Until
	require.False(t, time.Now().Before(end.Time), "not before its time was over")
	require.Nil(t, s.Module("staged-1", staged).DeferredUntil)
	s.putOff("staged-1", "")
	s.putOff("staged-3", "")
}

// revertsTheLastFirst publishes 3.4.0, which reaches all clusters, and takes them back to 1.1.0.
func (s *stagedFleet) revertsTheLastFirst(t *testing.T) {
	t.Helper()
	one, plan := intstr.FromInt32(1), canaryFirst()
	plan.Concurrency = &one
	plan.Stages = append(plan.Stages, v1beta2.RolloutStage{Name: "others", Soak: &metav1.Duration{Duration: 1000 * time.Hour}})
	s.replan(plan)
	s.PushModule(harness.MinimalModule{Name: staged, Version: "3.4.0"})
	s.markRevertible("3.4.0")
	s.publish("3.4.0")
	soaking := s.reaches("3.4.0", v1beta2.RolloutSoaking)
	require.Equal(t, "5/5", soaking.Status.Progress)
	expected, back := s.byPlace(soaking), s.order("1.1.0")
	slices.Reverse(expected)
	s.edit("3.4.0", func(r *v1beta2.ModuleRollout) { r.Spec.Revert = v1beta2.RevertAll })
	s.reaches("3.4.0", v1beta2.RolloutReverted)
	for _, kyma := range s.kymas {
		s.BecomesReady(kyma, staged+"@1.1.0")
	}
	s.Eventually("the watch has seen all", time.Minute, func(c *assert.CollectT) { assert.Len(c, back(), len(expected)) })
	require.Equal(t, expected, back(), "one at a time")
}
