package advance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

const afterADay = 24 * time.Hour

// completedOn returns a rollout of keda 1.1.1 to the channel regular. It has completed when the tests begin, and should
// be promoted to slow.
func completedOn(changes ...func(*v1beta2.ModuleRollout)) *v1beta2.ModuleRollout {
	r := rolloutTo("1.1.1", func(r *v1beta2.ModuleRollout) {
		r.Spec.Plan.Promotion = &v1beta2.RolloutPromotion{Channels: []string{"regular", "slow"}}
		r.Status.Phase, r.Status.Stage, r.Status.CompletedAt = v1beta2.RolloutCompleted, 2, new(metav1.NewTime(begun))
	})
	return changed(r, changes...)
}

// channelsOfKeda returns a release meta with another channel and an annotation that must not change.
func channelsOfKeda(assignments ...string) *v1beta2.ModuleReleaseMeta {
	meta := desiredtest.ReleaseMeta("keda", append([]string{"edge=1.1.1"}, assignments...)...)
	meta.UID, meta.Annotations = "meta", map[string]string{"theirs": "stays"}
	return meta
}

// promoted returns a bench with two healthy clusters in 1.1.1. The step that begins the promotion has been taken.
func promoted(t *testing.T, r *v1beta2.ModuleRollout, more ...client.Object) *bench {
	t.Helper()
	first, second := cluster("first", canary), cluster("second")
	b := newBench(t, append(more, r, first, second, installed(first, "1.1.1"), installed(second, "1.1.1"))...)
	out := b.step(r)
	require.False(t, out.Ended)
	require.Equal(t, "Completed", out.Phase)
	b.recorded()
	return b
}

// given returns the version of each channel in the release meta, and the reason of the last promotion.
func (b *bench) given() (map[string]string, string) {
	b.t.Helper()
	meta := desiredtest.ReleaseMeta("keda")
	require.NoError(b.t, b.Get(b.t.Context(), client.ObjectKeyFromObject(meta), meta))
	versions := map[string]string{}
	for _, channel := range meta.Spec.Channels {
		versions[channel.Channel] = channel.Version
	}
	require.Equal(b.t, "stays", meta.Annotations["theirs"])
	return versions, meta.Annotations[shared.AnnotationPromotion]
}

func TestAVersionThatStaysHealthyIsPromotedOnce(t *testing.T) {
	r := completedOn()
	b := promoted(t, r, channelsOfKeda("regular=1.1.1", "slow=1.1.0"))
	require.Equal(t, "slow", r.Status.Promotion.ToChannel)
	require.Equal(t, v1beta2.ChangePatch, r.Status.Promotion.Change)
	require.Equal(t, "the clusters to stay well for 24h0m0s, before channel slow gets the version, a patch change", r.Status.WaitsFor)
	require.True(t, r.Status.WaitsUntil.Time.Equal(begun.Add(afterADay)))
	version := r.ResourceVersion

	b.now = begun.Add(afterADay - time.Second)
	out := b.step(r)
	require.Equal(t, Out{Phase: "Completed", Progress: "2/2", WaitsFor: r.Status.WaitsFor, Until: begun.Add(afterADay)}, out)
	require.Equal(t, version, r.ResourceVersion, "no change, no write")

	b.now = begun.Add(afterADay)
	require.Equal(t, Out{Ended: true, Phase: "Completed", Progress: "2/2"}, b.step(r))
	versions, why := b.given()
	require.Equal(t, map[string]string{"edge": "1.1.1", "regular": "1.1.1", "slow": "1.1.1"}, versions)
	require.Equal(t, "keda 1.1.1 from regular to slow: ModuleRollout keda-regular-1.1.1 completed 2026-03-01T12:00:00Z, well since 2026-03-01T12:00:00Z", why)
	require.True(t, r.Status.Promotion.PromotedAt.Time.Equal(b.now))
	require.Empty(t, r.Status.WaitsFor)
	require.Equal(t, []string{"Normal VersionPromoted " + why, "Normal VersionPromoted module keda 1.1.1: channel slow got the version"}, b.recorded())

	version = r.ResourceVersion
	b.now = b.now.Add(afterADay)
	require.True(t, b.step(r).Ended)
	require.Equal(t, version, r.ResourceVersion)
	require.Empty(t, b.recorded())
}

// If a step completes a rollout, it also begins the promotion, so that the rollout never seems to be over in between.
func TestTheStepThatCompletesARolloutBeginsItsPromotion(t *testing.T) {
	r := completedOn(func(r *v1beta2.ModuleRollout) {
		r.Status = v1beta2.ModuleRolloutStatus{Phase: v1beta2.RolloutProgressing, Stage: 1, Released: 1 << 53, StartedAt: new(metav1.NewTime(begun.Add(-time.Hour)))}
	})
	b := promoted(t, r, channelsOfKeda("regular=1.1.1", "slow=1.1.0"))
	require.True(t, r.Status.CompletedAt.Time.Equal(begun))
	require.True(t, r.Status.Promotion.Since.Time.Equal(begun))
	require.Equal(t, "1.1.0", first(b.given())["slow"])
}

func TestATemplateThatBecomesAHotFixShortensAWaitThatHasBegun(t *testing.T) {
	r := completedOn(func(r *v1beta2.ModuleRollout) {
		r.Spec.Plan.Promotion.After.HotFix = &metav1.Duration{Duration: time.Hour}
	})
	template := desiredtest.Template("keda", "1.1.1")
	b := promoted(t, r, channelsOfKeda("regular=1.1.1", "slow=1.1.0"), template)
	require.Contains(t, r.Status.WaitsFor, "for 24h0m0s, ")

	template.Annotations[shared.AnnotationPriority] = shared.PriorityHotFix
	require.NoError(t, b.Update(t.Context(), template))
	require.Equal(t, begun.Add(time.Hour), b.step(r).Until.UTC())
	require.Equal(t, shared.PriorityHotFix, r.Status.Promotion.Priority)
	require.Equal(t, "the clusters to stay well for 1h0m0s instead of 24h0m0s, before channel slow gets the version, a patch change and a hot-fix", r.Status.WaitsFor)

	b.now = begun.Add(time.Hour)
	require.True(t, b.step(r).Ended)
	versions, why := b.given()
	require.Equal(t, "1.1.1", versions["slow"])
	require.Equal(t, "keda 1.1.1 from regular to slow: ModuleRollout keda-regular-1.1.1 completed 2026-03-01T12:00:00Z, "+
		"well since 2026-03-01T12:00:00Z, a hot-fix, which waits 1h0m0s instead of 24h0m0s", why)
	require.True(t, rollout.IsPromoted(r, why))
	require.Equal(t, []string{
		"Normal VersionPromoted " + why,
		"Normal VersionPromoted module keda 1.1.1: channel slow got the version, a hot-fix, which waits 1h0m0s instead of 24h0m0s",
	}, b.recorded())
}

func first[A, B any](a A, _ B) A { return a }

func TestAPromotionIsNotRepeatedAfterACrashBeforeItsStatusWasWritten(t *testing.T) {
	for name, meanwhile := range map[string]string{"no edit since": "1.1.1", "the version was reverted since": "1.1.0"} {
		t.Run(name, func(t *testing.T) {
			r := completedOn()
			b := promoted(t, r, channelsOfKeda("regular=1.1.1", "slow=1.1.0"))
			b.now = begun.Add(afterADay)
			died := errors.New("the worker died")
			b.fails = func(verb string, _ runtime.Object) error {
				if verb == "patch" {
					return died
				}
				return nil
			}
			_, err := b.AdvanceRollout(t.Context(), In{Ref: kick.RefOf(r)})
			require.ErrorIs(t, err, died)
			versions, why := b.given()
			require.Equal(t, "1.1.1", versions["slow"])
			b.fails = nil
			b.recorded()

			meta := desiredtest.ReleaseMeta("keda")
			require.NoError(t, b.Get(t.Context(), client.ObjectKeyFromObject(meta), meta))
			meta.Spec.Channels[2].Version = meanwhile
			require.NoError(t, b.Update(t.Context(), meta))
			b.now = b.now.Add(time.Minute)
			require.True(t, b.step(r).Ended)
			require.NotNil(t, r.Status.Promotion.PromotedAt)
			versions, again := b.given()
			require.Equal(t, meanwhile, versions["slow"])
			require.Equal(t, why, again)
			require.Equal(t, []string{"Normal VersionPromoted module keda 1.1.1: channel slow got the version"}, b.recorded())
		})
	}
}

// edited simulates another user who edits the release meta before each of the next writes.
type edited struct {
	client.Client
	t     *testing.T
	times int
	edit  func(*v1beta2.ModuleReleaseMeta)
}

func (e *edited) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if e.times > 0 {
		e.times--
		meta := desiredtest.ReleaseMeta("keda")
		require.NoError(e.t, e.Get(ctx, client.ObjectKeyFromObject(meta), meta))
		e.edit(meta)
		require.NoError(e.t, e.Update(ctx, meta))
	}
	return e.Client.Patch(ctx, object, patch, opts...)
}

func TestAPromotionDoesNotOverwriteTheWriteOfAnother(t *testing.T) {
	r := completedOn()
	b := promoted(t, r, channelsOfKeda("regular=1.1.1", "slow=1.1.0"))
	b.now = begun.Add(afterADay)
	b.ControlPlane = &edited{b.Client, t, 1, func(m *v1beta2.ModuleReleaseMeta) { m.Spec.Channels[2].Version = "1.2.0" }}
	_, err := b.AdvanceRollout(t.Context(), In{Ref: kick.RefOf(r)})
	f := fault.Of(err)
	require.Equal(t, fault.Transient, f.Kind)
	require.Equal(t, clusters.ReasonConflict, f.Reason)
	require.Empty(t, b.recorded(), "a failed write records no Events")

	require.True(t, b.step(r).Ended)
	require.Equal(t, "channel slow has version 1.2.0, which is newer", r.Status.Promotion.Ended)
	require.Equal(t, "1.2.0", first(b.given())["slow"])
	told := b.recorded()
	require.Len(t, told, 1)
	require.Contains(t, told[0], "Normal PromotionEnded module keda 1.1.1: channel slow has version 1.2.0, which is newer")
	require.Contains(t, told[0], hint.For(EventPromotionEnded))
	require.NotEmpty(t, hint.For(EventPromotionEnded))
}

func TestAFailedWritePromotesNothing(t *testing.T) {
	busy := errors.New("busy")
	r := completedOn()
	b := promoted(t, r, channelsOfKeda("regular=1.1.1", "slow=1.1.0"))
	b.now = begun.Add(afterADay)
	b.ControlPlane = refusing{b.Client, busy}
	_, err := b.AdvanceRollout(t.Context(), In{Ref: kick.RefOf(r)})
	require.ErrorIs(t, err, busy)
	require.Empty(t, b.recorded())
	b.ControlPlane = b.Client
	require.True(t, b.step(r).Ended)
}

// refusing refuses all writes except of statuses.
type refusing struct {
	client.Client
	err error
}

func (r refusing) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return r.err
}

// inSlow returns a rollout of keda to the channel slow.
func inSlow(version string, phase v1beta2.RolloutPhase, changes ...func(*v1beta2.ModuleRollout)) *v1beta2.ModuleRollout {
	return rolloutTo(version, func(r *v1beta2.ModuleRollout) {
		r.Name, r.UID, r.Spec.Channel, r.Spec.From, r.Status.Phase = "slow-"+version, types.UID("slow-"+version), "slow", "1.0.9", phase
	}, func(r *v1beta2.ModuleRollout) {
		for _, change := range changes {
			change(r)
		}
	})
}

func TestAPromotionWaitsForTheRolloutOfTheNextChannel(t *testing.T) {
	for name, test := range map[string]struct {
		theirs []client.Object
		waits  string
	}{
		"there is no rollout":             {nil, ""},
		"it has completed":                {[]client.Object{inSlow("1.1.0", v1beta2.RolloutCompleted)}, ""},
		"it was reverted":                 {[]client.Object{inSlow("1.1.0", v1beta2.RolloutReverted)}, ""},
		"it was aborted":                  {[]client.Object{inSlow("1.1.0", v1beta2.RolloutAborted)}, ""},
		"it is in progress":               {[]client.Object{inSlow("1.1.0", v1beta2.RolloutProgressing)}, "the rollout of version 1.1.0 to channel slow to end"},
		"it is held":                      {[]client.Object{inSlow("1.1.0", v1beta2.RolloutHeld)}, "the rollout of version 1.1.0 to channel slow to end"},
		"it will be created soon":         {[]client.Object{inSlow("1.0.9", v1beta2.RolloutCompleted)}, "the rollout of version 1.1.0 to channel slow to end"},
		"an earlier rollout did not end":  {[]client.Object{inSlow("1.0.9", v1beta2.RolloutHeld, sequence(1)), inSlow("1.1.0", v1beta2.RolloutCompleted)}, ""},
		"one without a policy":            {[]client.Object{inSlow("1.1.0", v1beta2.RolloutSoaking, withoutPolicy)}, "the rollout of version 1.1.0 to channel slow to end"},
		"one that waits for this version": {[]client.Object{inSlow("1.1.1", v1beta2.RolloutPending, withoutPolicy)}, ""},
		"one of another instance":         {[]client.Object{inSlow("1.1.0", v1beta2.RolloutHeld, ofAnotherInstance)}, ""},
		"one of another channel":          {[]client.Object{inSlow("1.1.0", v1beta2.RolloutHeld, func(r *v1beta2.ModuleRollout) { r.Spec.Channel = "edge" })}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := completedOn()
			b := promoted(t, r, append(test.theirs, channelsOfKeda("regular=1.1.1", "slow=1.1.0"))...)
			b.now = begun.Add(afterADay)
			out := b.step(r)
			require.Equal(t, test.waits, out.WaitsFor)
			require.Equal(t, test.waits == "", out.Ended)
			require.Zero(t, out.Until, "the end of that rollout causes a kick")
		})
	}
}

// A kick may arrive before this process's informers have seen its cause.
func TestTheRolloutOfTheNextChannelIsReadLive(t *testing.T) {
	busy := inSlow("1.1.0", v1beta2.RolloutProgressing)
	r := completedOn()
	b := promoted(t, r, busy, channelsOfKeda("regular=1.1.1", "slow=1.1.0"))
	stale := []client.Object{completedOn(), inSlow("1.1.0", v1beta2.RolloutProgressing), inSlow("1.1.2", v1beta2.RolloutHeld, sequence(9)), channelsOfKeda("regular=1.1.1", "slow=1.1.0")}
	b.informersKnow(stale...)
	b.now = begun.Add(afterADay)
	require.Equal(t, "the rollout of version 1.1.0 to channel slow to end", b.step(r).WaitsFor, "the newest one is gone")

	require.NoError(t, b.Get(t.Context(), client.ObjectKeyFromObject(busy), busy))
	busy.Status.Phase = v1beta2.RolloutCompleted
	require.NoError(t, b.Client.Status().Update(t.Context(), busy))
	require.True(t, b.step(r).Ended)
}

func TestAPromotionNeedsOneReleaseMeta(t *testing.T) {
	second := changed(channelsOfKeda("regular=1.1.1", "slow=1.1.0"), func(m *v1beta2.ModuleReleaseMeta) { m.Name, m.UID = "keda-too", "too" })
	r := completedOn()
	b := promoted(t, r, channelsOfKeda("regular=1.1.1", "slow=1.1.0"), second)
	b.now = begun.Add(afterADay)
	require.Equal(t, "exactly one ModuleReleaseMeta of module keda in namespace "+desiredtest.Namespace+", but there are 2", b.step(r).WaitsFor)
	require.NoError(t, b.Delete(t.Context(), second))
	b.step(r)
	require.Equal(t, "the clusters to stay well for 24h0m0s, before channel slow gets the version, a patch change", r.Status.WaitsFor,
		"the earlier state is unknown")
	b.now = b.now.Add(afterADay)
	require.True(t, b.step(r).Ended)
}

func TestAPromotionEndsWithItsRollout(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1beta2.ModuleRollout)
		newer  []client.Object
		fast   string
		ended  string
	}{
		"superseded":           {func(*v1beta2.ModuleRollout) {}, []client.Object{rolloutTo("1.2.0", sequence(3))}, "1.1.1", "a newer rollout of channel regular has superseded this one"},
		"aborted":              {func(r *v1beta2.ModuleRollout) { r.Spec.Abort = true }, nil, "1.1.1", "spec.abort is set"},
		"the channel moves on": {func(*v1beta2.ModuleRollout) {}, nil, "1.2.0", "channel regular has version 1.2.0 now"},
	} {
		t.Run(name, func(t *testing.T) {
			r := completedOn(test.change)
			b := newBench(t, append(test.newer, r, channelsOfKeda("regular="+test.fast, "slow=1.1.0"))...)
			require.Equal(t, Out{Ended: true, Phase: "Completed", Progress: "0/0"}, b.step(r))
			require.Equal(t, test.ended, r.Status.Promotion.Ended)
			require.Equal(t, "1.1.0", first(b.given())["slow"])
			told := b.recorded()
			require.Len(t, told, 1)
			require.Contains(t, told[0], "Normal PromotionEnded module keda 1.1.1: "+test.ended)
		})
	}
}

func TestAFailedReadPromotesNothing(t *testing.T) {
	busy := errors.New("busy")
	r := completedOn()
	b := promoted(t, r, inSlow("1.1.0", v1beta2.RolloutCompleted), channelsOfKeda("regular=1.1.1", "slow=1.1.0"))
	b.now = begun.Add(afterADay)
	for name, which := range map[string]func(object runtime.Object, n int) bool{
		"the release meta, again":    func(o runtime.Object, n int) bool { _, ok := o.(*v1beta2.ModuleReleaseMeta); return ok && n == 2 },
		"which there are, again":     func(o runtime.Object, n int) bool { _, ok := o.(*v1beta2.ModuleReleaseMetaList); return ok && n == 2 },
		"the other rollouts, again":  func(o runtime.Object, n int) bool { _, ok := o.(*v1beta2.ModuleRolloutList); return ok && n == 2 },
		"the next channel's rollout": func(o runtime.Object, n int) bool { _, ok := o.(*v1beta2.ModuleRollout); return ok && n == 2 },
	} {
		reads := map[string]int{}
		b.fails = func(_ string, object runtime.Object) error {
			kind := fmt.Sprintf("%T", object)
			reads[kind]++
			if which(object, reads[kind]) {
				return busy
			}
			return nil
		}
		_, err := b.AdvanceRollout(t.Context(), In{Ref: kick.RefOf(r)})
		b.fails = nil
		require.ErrorIs(t, err, busy, name)
		require.Equal(t, "1.1.0", first(b.given())["slow"], name)
		require.Empty(t, b.recorded(), name)
	}
}
