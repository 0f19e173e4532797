package watchers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	staged "github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// stagedRollout returns a rollout of keda 1.1.0 to the channel regular, with the stages canary and rest.
func stagedRollout(changes ...func(*v1beta2.ModuleRollout)) *v1beta2.ModuleRollout {
	r := &v1beta2.ModuleRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "keda-regular-1.1.0", UID: "r-uid", Generation: 1, ResourceVersion: "5"},
		Spec: v1beta2.ModuleRolloutSpec{
			ModuleName: "keda", Channel: "regular", From: "1.0.0", To: "1.1.0", Policy: "all", Sequence: 2,
			Plan: v1beta2.RolloutPlan{Stages: []v1beta2.RolloutStage{
				{Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}},
			}},
		},
	}
	for _, change := range changes {
		change(r)
	}
	return r
}

// released sets how many stages a rollout has released, and up to which point of the next stage.
func released(stages int32, point int64) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) {
		r.Status.Stage, r.Status.Released, r.ResourceVersion = stages, point, "6"
	}
}

func ofChannel(channel string) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.Spec.Channel = channel }
}

// wanting returns a Kyma that wants keda from the channel regular.
func wanting(name string, changes ...func(*v1beta2.Kyma)) *v1beta2.Kyma {
	return named(name, func(k *v1beta2.Kyma) {
		k.UID, k.Spec.Channel, k.Spec.Modules = types.UID("uid-"+name), "regular", []v1beta2.Module{{Name: "keda"}}
		for _, change := range changes {
			change(k)
		}
	})
}

func canary(k *v1beta2.Kyma) { k.Labels = map[string]string{"stage": "canary"} }

// stagedFleet returns a watcher with a canary, two other clusters, and some clusters that the rollout does not concern.
func stagedFleet(t *testing.T, more ...client.Object) *watcher {
	t.Helper()
	w := indexed(t, append(more, wanting("canary", canary), wanting("one"), wanting("two"),
		wanting("fast", func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" }),
		wanting("pinned", func(k *v1beta2.Kyma) { k.Spec.Modules[0].Version = "1.0.0" }),
		wanting("others", func(k *v1beta2.Kyma) { k.Labels = map[string]string{shared.LabelManagedBy: "another"} }),
		named("without", nil))...)
	w.Settings.Mode = desired.ModeSingleCluster
	return w
}

func TestAReleaseKicksOnlyKymasWithAReleasedPlace(t *testing.T) {
	w := stagedFleet(t)
	kicked := func(before, after *v1beta2.ModuleRollout) []string {
		var names []string
		for _, req := range asked(func(q kymaQueue) {
			w.releases().Update(t.Context(), event.TypedUpdateEvent[*v1beta2.ModuleRollout]{ObjectOld: before, ObjectNew: after}, q)
		}) {
			require.Equal(t, cause{Kind: "ModuleRollout", Namespace: "kcp-system", Name: "keda-regular-1.1.0", ResourceVersion: after.ResourceVersion, Paced: true}, req.Cause)
			require.False(t, req.Own, "nobody waits for this reconcile")
			names = append(names, req.Name)
		}
		return names
	}
	position := func(kyma string) int64 { return staged.Position("keda", "1.1.0", types.UID("uid-"+kyma)) }
	first, second := "one", "two"
	if position(first) > position(second) {
		first, second = second, first
	}
	begun, canaries, half, all := stagedRollout(), stagedRollout(released(0, staged.Everyone)), stagedRollout(released(1, position(first)+1)), stagedRollout(released(2, 0))

	require.Equal(t, []string{"canary"}, kicked(begun, canaries))
	require.Empty(t, kicked(canaries, stagedRollout(released(1, 0))), "the next stage begins without clusters")
	require.Equal(t, []string{first}, kicked(canaries, half))
	require.Empty(t, kicked(half, stagedRollout(released(1, position(second)))), "the next cluster is not released yet")
	require.Equal(t, []string{second}, kicked(half, all))

	reverting := func(r *v1beta2.ModuleRollout) { r.Status.Reverts = true }
	require.Equal(t, []string{second}, kicked(all, stagedRollout(released(1, position(first)+1), reverting)), "versions are taken back from the last cluster on")
	require.ElementsMatch(t, []string{"canary", first}, kicked(half, stagedRollout(reverting)))

	told := stagedRollout(released(1, position(first)+1), func(r *v1beta2.ModuleRollout) {
		r.Generation, r.Spec.Paused, r.Status.Progress, r.Status.Phase = 2, true, "2/3", v1beta2.RolloutPaused
	})
	require.Empty(t, kicked(half, told), "a status change that releases no cluster")
}

func TestAReleaseOfAMandatoryModuleConcernsEveryKyma(t *testing.T) {
	w := stagedFleet(t)
	var names []string
	for _, req := range asked(func(q kymaQueue) {
		w.releases().Update(t.Context(), event.TypedUpdateEvent[*v1beta2.ModuleRollout]{
			ObjectOld: stagedRollout(ofChannel(""), released(1, 0)), ObjectNew: stagedRollout(ofChannel(""), released(2, 0)),
		}, q)
	}) {
		names = append(names, req.Name)
	}
	require.ElementsMatch(t, []string{"one", "two", "fast", "pinned", "without"}, names, "all but the canary, which has it already")
}

func TestANewOrDeletedRolloutKicksKymasThatGetAnotherVersion(t *testing.T) {
	w := stagedFleet(t)
	created := func(r *v1beta2.ModuleRollout, atStart bool) []kymaRequest {
		return asked(func(q kymaQueue) {
			w.releases().Create(t.Context(), event.TypedCreateEvent[*v1beta2.ModuleRollout]{Object: r, IsInInitialList: atStart}, q)
		})
	}
	require.Empty(t, created(stagedRollout(), false), "a new rollout has released nothing")
	restored := created(stagedRollout(released(1, 0)), false)
	require.Len(t, restored, 1, "a rollout that was restored with its status")
	require.Equal(t, "canary", restored[0].Name)
	require.Empty(t, created(stagedRollout(released(1, 0)), true), "the digest of each Kyma covers it")

	var names []string
	for _, req := range asked(func(q kymaQueue) {
		w.releases().Delete(t.Context(), event.TypedDeleteEvent[*v1beta2.ModuleRollout]{Object: stagedRollout(released(1, 0))}, q)
	}) {
		names = append(names, req.Name)
		require.False(t, req.Cause.Paced, "no stage paces this change")
	}
	require.ElementsMatch(t, []string{"canary", "one", "two"}, names, "all clusters of the rollout")
}

// A new mandatory module would otherwise reach the whole fleet at once.
func TestTheFirstRolloutOfAChannelIsSpreadLikeACatalogChange(t *testing.T) {
	w := stagedFleet(t)
	first := func(r *v1beta2.ModuleRollout) { r.Spec.From = r.Spec.To }
	asking := asked(func(q kymaQueue) {
		w.releases().Update(t.Context(), event.TypedUpdateEvent[*v1beta2.ModuleRollout]{
			ObjectOld: stagedRollout(ofChannel(""), first), ObjectNew: stagedRollout(ofChannel(""), first, released(2, 0)),
		}, q)
	})
	require.NotEmpty(t, asking)
	for _, req := range asking {
		require.False(t, req.Cause.Paced)
	}
}

func TestAReleaseWithoutKymasKicksNobody(t *testing.T) {
	w := indexed(t)
	require.Empty(t, asked(func(q kymaQueue) {
		w.releases().Update(t.Context(), event.TypedUpdateEvent[*v1beta2.ModuleRollout]{ObjectOld: stagedRollout(), ObjectNew: stagedRollout(released(2, 0))}, q)
	}))
	blind, _, _ := newWatcher(t) // it has no index to find Kymas by
	require.Empty(t, asked(func(q kymaQueue) {
		blind.releases().Update(t.Context(), event.TypedUpdateEvent[*v1beta2.ModuleRollout]{ObjectOld: stagedRollout(), ObjectNew: stagedRollout(released(2, 0))}, q)
	}), "the sweep finds them")
}

// The rollout paces the release.
func TestARolloutsReleaseIsNotSpreadFurther(t *testing.T) {
	kyma := behindBy(1, nil)[0]
	w, kicks, _ := newWatcher(t, kyma)
	require.Equal(t, time.Hour, w.Settings.PacingSpan)
	release := kymaRequest{Ref: kick.RefOf(kyma), Cause: cause{Kind: "ModuleRollout", Namespace: "kcp-system", Name: "r", ResourceVersion: "7", Paced: true}}

	res, err := w.paceKyma(t.Context(), ofCatalog(kyma))
	require.NoError(t, err)
	require.Positive(t, res.RequeueAfter, "catalog changes are spread")
	require.Empty(t, kicks.sent)

	res, err = w.paceKyma(t.Context(), release)
	require.NoError(t, err)
	require.Zero(t, res.RequeueAfter, "even if the Kyma already waits for its turn")
	require.Equal(t, []sent{{"kyma/kcp-system/k0/uid-0", kick.Kick{
		Reason: "ModuleRollout changed", Kind: "ModuleRollout", Namespace: "kcp-system", Name: "r", ResourceVersion: "7",
	}.SeenAt(now)}}, kicks.sent)
}
