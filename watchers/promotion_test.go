package watchers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// beingPromoted completes a rollout and promotes its version to a channel.
func beingPromoted(to string) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) {
		r.Spec.Plan.Promotion = &v1beta2.RolloutPromotion{Channels: []string{r.Spec.Channel, to}}
		r.Status.Phase, r.Status.Stage = v1beta2.RolloutCompleted, 2
		r.Status.Promotion = &v1beta2.RolloutPromotionStatus{ToChannel: to}
	}
}

func wasPromoted(r *v1beta2.ModuleRollout) {
	beingPromoted("fast")(r)
	r.Status.Promotion.Ended = "channel fast got the version"
}

func promotedUntil(at time.Time) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) {
		beingPromoted("fast")(r)
		waitsUntil(v1beta2.RolloutCompleted, at)(r)
	}
}

// promotions returns a rollout of regular that is being promoted to fast, one that was promoted, and one that is being
// promoted elsewhere.
func promotions() []client.Object {
	return []client.Object{
		stagedRollout(called("promoted"), beingPromoted("fast")), stagedRollout(called("was"), wasPromoted),
		stagedRollout(called("elsewhere"), beingPromoted("slow")),
	}
}

func TestAPromotionIsKickedByWhatItWaitsFor(t *testing.T) {
	w, ctx := indexed(t, promotions()...), t.Context()
	both, one := map[string]time.Duration{"promoted": 0, "elsewhere": 0}, map[string]time.Duration{"promoted": 0}
	events := w.rolloutEvents()
	next := func(phase v1beta2.RolloutPhase) *v1beta2.ModuleRollout {
		return stagedRollout(called("next"), ofChannel("fast"), inPhase(phase))
	}
	updated := func(before, after v1beta2.RolloutPhase) map[string]time.Duration {
		return due(func(q rolloutQueue) {
			events.Update(ctx, event.TypedUpdateEvent[*v1beta2.ModuleRollout]{ObjectOld: next(before), ObjectNew: next(after)}, q)
		})
	}
	require.Equal(t, one, updated(v1beta2.RolloutProgressing, v1beta2.RolloutCompleted), "the rollout of the next channel has ended")
	require.Equal(t, one, updated(v1beta2.RolloutHeld, v1beta2.RolloutSuperseded))
	require.Empty(t, updated(v1beta2.RolloutProgressing, v1beta2.RolloutHeld))
	require.Empty(t, updated(v1beta2.RolloutCompleted, v1beta2.RolloutCompleted))
	require.Equal(t, map[string]time.Duration{"promoted": 0, "next": 0}, due(func(q rolloutQueue) {
		events.Delete(ctx, event.TypedDeleteEvent[*v1beta2.ModuleRollout]{Object: next(v1beta2.RolloutHeld)}, q)
	}), "the rollout is gone")
	require.Equal(t, map[string]time.Duration{"promoted": 0, "elsewhere": 0, "next": 0}, due(func(q rolloutQueue) {
		events.Create(ctx, event.TypedCreateEvent[*v1beta2.ModuleRollout]{Object: next("")}, q)
	}))

	meta := desiredtest.ReleaseMeta("keda", "fast=1.1.0")
	edited := meta.DeepCopy()
	edited.Generation++
	require.Equal(t, both, due(func(q rolloutQueue) {
		w.rolloutsOfReleaseMeta().Update(ctx, event.TypedUpdateEvent[*v1beta2.ModuleReleaseMeta]{ObjectOld: meta, ObjectNew: edited}, q)
	}))
}

// A version that is observed for days needs no counting every second.
func TestClustersKickAPromotionOnlyEveryFewMinutes(t *testing.T) {
	w := indexed(t, promotions()...)
	far := map[string]time.Duration{"promoted": 5 * time.Minute, "elsewhere": 5 * time.Minute}
	for _, state := range []shared.State{shared.StateReady, shared.StateError} {
		require.Equal(t, far, due(func(q rolloutQueue) {
			w.rolloutsOfManifest().Update(t.Context(), settling(shared.StateProcessing, state), q)
		}), state)
	}
}
