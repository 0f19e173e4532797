package watchers

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	staged "github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// delayed records the delay of each request.
type delayed struct {
	rolloutQueue
	due map[string]time.Duration
}

func (d delayed) Add(req rolloutRequest)                           { d.due[req.Name] = 0 }
func (d delayed) AddAfter(req rolloutRequest, after time.Duration) { d.due[req.Name] = after }

// due returns the names of the rollouts that a handler requests, with their delays.
func due(handle func(q rolloutQueue)) map[string]time.Duration {
	d := delayed{due: map[string]time.Duration{}}
	handle(d)
	return d.due
}

// ageOf sets how long ago the present stage of a rollout released its first cluster.
func ageOf(age time.Duration) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) {
		r.Status.Phase = v1beta2.RolloutProgressing
		r.Status.Stages = []v1beta2.RolloutStageStatus{{Name: "canary", FirstReleasedAt: new(metav1.NewTime(now.Add(-age)))}, {Name: "rest"}}
	}
}

func called(name string) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.Name, r.UID = name, types.UID("uid-"+name) }
}

func inPhase(phase v1beta2.RolloutPhase) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) { r.Status.Phase = phase }
}

func ofAnother(r *v1beta2.ModuleRollout) {
	r.Labels = map[string]string{shared.LabelManagedBy: "another"}
}

// rolloutsOfKeda returns an open rollout of keda for each of three channels, one that has ended, and others.
func rolloutsOfKeda() []client.Object {
	return []client.Object{
		stagedRollout(called("regular"), ageOf(2*time.Minute)), stagedRollout(called("fast"), ofChannel("fast")), stagedRollout(called("mandatory"), ofChannel("")),
		stagedRollout(called("ended"), inPhase(v1beta2.RolloutCompleted)), stagedRollout(called("others"), ofAnother),
		stagedRollout(called("btp"), func(r *v1beta2.ModuleRollout) { r.Spec.ModuleName = "btp" }),
	}
}

func TestWhichRolloutEventsAreHandled(t *testing.T) {
	w := indexed(t, rolloutsOfKeda()...)
	events, ctx := w.rolloutEvents(), t.Context()
	own := rolloutRequest{Ref: kick.RefOf(stagedRollout())}
	updated := func(change func(*v1beta2.ModuleRollout)) []rolloutRequest {
		return asked(func(q rolloutQueue) {
			for range 100 {
				events.Update(ctx, event.TypedUpdateEvent[*v1beta2.ModuleRollout]{ObjectOld: stagedRollout(), ObjectNew: stagedRollout(change)}, q)
			}
		})
	}
	require.Equal(t, []rolloutRequest{own}, updated(func(r *v1beta2.ModuleRollout) { r.Generation = 2 }))
	require.Empty(t, updated(func(r *v1beta2.ModuleRollout) {
		r.ResourceVersion, r.Status.Phase, r.Status.Stage, r.Status.Released = "9", v1beta2.RolloutProgressing, 1, 7
	}), "our own status write")
	require.Equal(t, []rolloutRequest{{Ref: own.Ref, Gone: true}, {Ref: kick.Ref{Namespace: "kcp-system", Name: "keda-regular-1.1.0", UID: "new"}}},
		updated(func(r *v1beta2.ModuleRollout) { r.UID = "new" }), "a replaced rollout causes two requests")
	require.Equal(t, []rolloutRequest{{Ref: own.Ref, Gone: true}}, asked(func(q rolloutQueue) {
		events.Delete(ctx, event.TypedDeleteEvent[*v1beta2.ModuleRollout]{Object: stagedRollout()}, q)
	}))
	var names []string
	for _, req := range asked(func(q rolloutQueue) {
		events.Create(ctx, event.TypedCreateEvent[*v1beta2.ModuleRollout]{Object: stagedRollout()}, q)
	}) {
		require.False(t, req.Gone)
		names = append(names, req.Name)
	}
	require.ElementsMatch(t, []string{"keda-regular-1.1.0", "regular", "fast", "mandatory"}, names, "it may supersede the open ones")
}

func TestCatalogChangesKickRollouts(t *testing.T) {
	w := indexed(t, rolloutsOfKeda()...)
	metas, templates, ctx := w.rolloutsOfReleaseMeta(), w.rolloutsOfTemplate(), t.Context()
	all := map[string]time.Duration{"regular": 0, "fast": 0, "mandatory": 0}
	meta := func(change func(*v1beta2.ModuleReleaseMeta)) *v1beta2.ModuleReleaseMeta {
		meta := desiredtest.ReleaseMeta("keda", "regular=1.1.0")
		change(meta)
		return meta
	}
	same := func(*v1beta2.ModuleReleaseMeta) {}
	created := func(atStart bool) map[string]time.Duration {
		return due(func(q rolloutQueue) {
			metas.Create(ctx, event.TypedCreateEvent[*v1beta2.ModuleReleaseMeta]{Object: meta(same), IsInInitialList: atStart}, q)
		})
	}
	updated := func(change func(*v1beta2.ModuleReleaseMeta)) map[string]time.Duration {
		return due(func(q rolloutQueue) {
			metas.Update(ctx, event.TypedUpdateEvent[*v1beta2.ModuleReleaseMeta]{ObjectOld: meta(same), ObjectNew: meta(change)}, q)
		})
	}
	require.Equal(t, all, created(false))
	require.Empty(t, created(true), "the initial list covers each rollout")
	require.Equal(t, all, updated(func(m *v1beta2.ModuleReleaseMeta) { m.Generation = 2 }))
	require.Empty(t, updated(func(m *v1beta2.ModuleReleaseMeta) {
		m.Annotations = map[string]string{shared.AnnotationChannels: "regular=1.1.0"}
	}))
	require.Equal(t, all, due(func(q rolloutQueue) {
		metas.Delete(ctx, event.TypedDeleteEvent[*v1beta2.ModuleReleaseMeta]{Object: meta(same)}, q)
	}))

	allowing, forbidding := desiredtest.Template("keda", "1.1.0"), desiredtest.Template("keda", "1.1.0")
	allowing.Annotations[shared.AnnotationRevertibleTo] = ">=1.0.0"
	template := func(before, after *v1beta2.ModuleTemplate) map[string]time.Duration {
		return due(func(q rolloutQueue) {
			templates.Update(ctx, event.TypedUpdateEvent[*v1beta2.ModuleTemplate]{ObjectOld: before, ObjectNew: after}, q)
		})
	}
	require.Equal(t, all, template(forbidding, allowing), "a rollout that waits for this has no deadline")
	edited := allowing.DeepCopy()
	edited.Generation, edited.Annotations["theirs"] = 2, "stays"
	require.Empty(t, template(allowing, edited))
	urgent := allowing.DeepCopy()
	urgent.Annotations[shared.AnnotationPriority] = shared.PriorityHotFix
	require.Equal(t, all, template(allowing, urgent), "the wait of a promotion may now be shorter")
	require.Equal(t, all, template(urgent, allowing))
	again := func(object *v1beta2.ModuleTemplate, atStart bool) map[string]time.Duration {
		return due(func(q rolloutQueue) {
			templates.Create(ctx, event.TypedCreateEvent[*v1beta2.ModuleTemplate]{Object: object, IsInInitialList: atStart}, q)
		})
	}
	require.Equal(t, all, again(urgent, false), "it may replace a template without these annotations")
	require.Empty(t, again(urgent, true))
	require.Empty(t, again(forbidding, false))
}

func settling(before, after shared.State, changes ...func(before, after *v1beta2.Manifest)) event.TypedUpdateEvent[*v1beta2.Manifest] {
	of := func(state shared.State) *v1beta2.Manifest {
		return manifestWith(func(m *v1beta2.Manifest) {
			m.Labels = map[string]string{shared.LabelModuleName: "keda", shared.LabelChannel: "regular"}
			m.Status.State, m.Status.InstalledVersion = state, "1.1.0"
		})
	}
	e := event.TypedUpdateEvent[*v1beta2.Manifest]{ObjectOld: of(before), ObjectNew: of(after)}
	for _, change := range changes {
		change(e.ObjectOld, e.ObjectNew)
	}
	return e
}

func TestAManifestThatSettlesKicksTheRolloutOfItsChannel(t *testing.T) {
	w := indexed(t, rolloutsOfKeda()...)
	kicked := func(e event.TypedUpdateEvent[*v1beta2.Manifest]) map[string]time.Duration {
		return due(func(q rolloutQueue) { w.rolloutsOfManifest().Update(t.Context(), e, q) })
	}
	spaced := map[string]time.Duration{"regular": 20 * time.Second} // a sixth of two minutes
	require.Equal(t, spaced, kicked(settling(shared.StateProcessing, shared.StateReady)))
	require.Equal(t, spaced, kicked(settling(shared.StateProcessing, shared.StateWarning)))
	require.Equal(t, spaced, kicked(settling(shared.StateError, shared.StateReady)), "the module recovered")
	require.Equal(t, spaced, kicked(settling(shared.StateReady, shared.StateDeleting)), "the cluster no longer belongs to the rollout")
	require.Equal(t, map[string]time.Duration{"regular": time.Second}, kicked(settling(shared.StateProcessing, shared.StateError)), "a failure is not delayed")
	require.Equal(t, spaced, kicked(settling(shared.StateReady, shared.StateReady, func(before, _ *v1beta2.Manifest) {
		before.Status.InstalledVersion = "1.0.0"
	})))
	require.Empty(t, kicked(settling(shared.StateReady, shared.StateReady)))
	require.Empty(t, kicked(settling(shared.StateReady, shared.StateProcessing)), "the rollout has a deadline for that")
	require.Empty(t, kicked(settling(shared.StateProcessing, shared.StateReady, func(_, after *v1beta2.Manifest) {
		after.Labels[shared.LabelChannel] = "slow"
	})))
	require.Contains(t, kicked(settling(shared.StateProcessing, shared.StateReady, func(_, after *v1beta2.Manifest) {
		after.Labels[shared.LabelChannel] = "fast"
	})), "fast")
	require.Equal(t, map[string]time.Duration{"mandatory": time.Second}, kicked(settling(shared.StateProcessing, shared.StateReady, func(_, after *v1beta2.Manifest) {
		after.Labels = map[string]string{shared.LabelModuleName: "keda", shared.LabelMandatoryModule: shared.ValueTrue}
	})))
	require.Equal(t, spaced, kicked(settling(shared.StateReady, shared.StateReady, func(_, after *v1beta2.Manifest) {
		after.Annotations = map[string]string{staged.AnnotationHeldBack: staged.HeldBack{Version: "1.2.0", Waits: true}.Text()}
	})), "it does not get the version yet")
	require.Contains(t, kicked(settling(shared.StateProcessing, shared.StateReady, func(_, after *v1beta2.Manifest) {
		after.Labels[shared.LabelModuleName], after.Annotations = "short", map[string]string{desired.AnnotationModuleEntry: "keda"}
	})), "regular", "a long module name is in an annotation")
}

// Waiting longer would leave the control plane idle.
func TestARolloutStopsWaitingWhenNearlyAllClustersHaveSettled(t *testing.T) {
	w := indexed(t, stagedRollout(ageOf(time.Hour), func(r *v1beta2.ModuleRollout) { r.Status.Stages[0].Updating = 20 }))
	var waits []time.Duration
	manifests := w.rolloutsOfManifest()
	for range 19 {
		waits = append(waits, due(func(q rolloutQueue) {
			manifests.Update(t.Context(), settling(shared.StateProcessing, shared.StateReady), q)
		})["keda-regular-1.1.0"])
	}
	require.Equal(t, slices.Repeat([]time.Duration{5 * time.Minute}, 17), waits[:17])
	require.Equal(t, []time.Duration{time.Second, time.Second}, waits[17:])
}

func TestKicksForClustersAreSpacedByTheAgeOfTheStage(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{
		0: time.Second, 6 * time.Second: time.Second, 12 * time.Second: 2 * time.Second, time.Minute: 10 * time.Second, 6 * time.Minute: time.Minute, 24 * time.Hour: 5 * time.Minute,
	} {
		require.Equal(t, want, spacing(stagedRollout(ageOf(age)), false, now), age)
		require.Equal(t, time.Second, spacing(stagedRollout(ageOf(age)), true, now), age)
	}
	held := stagedRollout(ageOf(24 * time.Hour))
	held.Status.Phase = v1beta2.RolloutHeld
	require.Equal(t, time.Minute, spacing(held, false, now), "people wait for the rollout")
	require.Equal(t, time.Second, spacing(stagedRollout(), false, now), "the rollout has not begun")
	require.Equal(t, time.Second, spacing(stagedRollout(ageOf(time.Hour), released(1, 0)), false, now), "the next stage has not begun")
	require.Equal(t, time.Second, spacing(stagedRollout(ageOf(time.Hour), released(2, 0)), false, now), "the rollout is at its end")
}

func TestAKymaThatWaitsNoLongerKicksTheRolloutsOfItsModules(t *testing.T) {
	w := indexed(t, rolloutsOfKeda()...)
	rows := func(change func(*v1beta2.ModuleStatus)) func(*v1beta2.Kyma) {
		return func(k *v1beta2.Kyma) {
			keda := v1beta2.ModuleStatus{Name: "keda", State: shared.StateProcessing}
			change(&keda)
			k.Status.Modules = []v1beta2.ModuleStatus{{Name: "istio"}, keda}
		}
	}
	same := rows(func(*v1beta2.ModuleStatus) {})
	both := func(changes ...func(*v1beta2.Kyma)) func(*v1beta2.Kyma) {
		return func(k *v1beta2.Kyma) {
			for _, change := range changes {
				change(k)
			}
		}
	}
	unreachable := func(k *v1beta2.Kyma) { k.Status.Remote = &v1beta2.RemoteStatus{Reachable: new(false)} }
	skipped := func(k *v1beta2.Kyma) { k.Labels = map[string]string{shared.LabelSkipReconciliation: "true"} }
	maintenance := rows(func(m *v1beta2.ModuleStatus) { m.Maintenance = true })
	all := map[string]time.Duration{"regular": 20 * time.Second, "fast": time.Second, "mandatory": time.Second}
	for name, test := range map[string]struct {
		before, after func(*v1beta2.Kyma)
		want          map[string]time.Duration
	}{
		"its window begins":                      {maintenance, same, all},
		"it waits for a window":                  {same, maintenance, all},
		"its cluster is back":                    {both(same, unreachable), same, all},
		"its cluster is out of reach":            {same, both(same, unreachable), all},
		"it is reconciled again":                 {both(same, skipped), same, all},
		"a module is refused":                    {same, rows(func(m *v1beta2.ModuleStatus) { m.State = shared.StateError }), all},
		"not that a module is ready":             {same, rows(func(m *v1beta2.ModuleStatus) { m.State = shared.StateReady }), map[string]time.Duration{}},
		"not another status":                     {same, both(same, func(k *v1beta2.Kyma) { k.Status.State = shared.StateReady }), map[string]time.Duration{}},
		"not a module without a rollout":         {func(*v1beta2.Kyma) {}, unreachable, map[string]time.Duration{}},
		"not a module that is new in the status": {func(*v1beta2.Kyma) {}, same, map[string]time.Duration{}},
		"but a new module that is refused":       {func(*v1beta2.Kyma) {}, rows(func(m *v1beta2.ModuleStatus) { m.State = shared.StateError }), all},
	} {
		require.Equal(t, test.want, due(func(q rolloutQueue) {
			w.rolloutsOfKyma().Update(t.Context(), event.TypedUpdateEvent[*v1beta2.Kyma]{ObjectOld: kymaWith(test.before), ObjectNew: kymaWith(test.after)}, q)
		}), name)
	}
}

func TestWhichRolloutsAreKicked(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1beta2.ModuleRollout)
		want   bool
	}{
		"one that has not begun":       {func(*v1beta2.ModuleRollout) {}, true},
		"one under way":                {inPhase(v1beta2.RolloutProgressing), true},
		"one that is held":             {inPhase(v1beta2.RolloutHeld), true},
		"one that is paused":           {inPhase(v1beta2.RolloutPaused), true},
		"one that takes back":          {inPhase(v1beta2.RolloutReverting), true},
		"not one that has completed":   {inPhase(v1beta2.RolloutCompleted), false},
		"but one that is promoted":     {beingPromoted("fast"), true},
		"not one that was promoted":    {wasPromoted, false},
		"not one that was reverted":    {inPhase(v1beta2.RolloutReverted), false},
		"not one that was aborted":     {inPhase(v1beta2.RolloutAborted), false},
		"not one that is superseded":   {inPhase(v1beta2.RolloutSuperseded), false},
		"not one of another instance":  {ofAnother, false},
		"not another one of this name": {func(r *v1beta2.ModuleRollout) { r.UID = "later" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, kicks, _ := newWatcher(t, stagedRollout(test.change, func(r *v1beta2.ModuleRollout) { r.ResourceVersion = "7" }))
			_, err := w.kickRollout(t.Context(), rolloutRequest{Ref: kick.RefOf(stagedRollout())})
			require.NoError(t, err)
			if !test.want {
				require.Empty(t, kicks.sent)
				return
			}
			require.Equal(t, []sent{{"rollout/kcp-system/keda-regular-1.1.0/r-uid", kick.Kick{
				Reason: "ModuleRollout or its clusters changed", Kind: "ModuleRollout", Namespace: "kcp-system", Name: "keda-regular-1.1.0", ResourceVersion: "7",
			}}}, kicks.sent)
		})
	}
	w, kicks, _ := newWatcher(t)
	_, err := w.kickRollout(t.Context(), rolloutRequest{Ref: kick.RefOf(stagedRollout())})
	require.NoError(t, err)
	require.Empty(t, kicks.sent, "nor a missing rollout")
}

func TestARolloutThatIsGoneWakesOnlyAnOpenWorkflow(t *testing.T) {
	w, kicks, _ := newWatcher(t)
	_, err := w.kickRollout(t.Context(), rolloutRequest{Ref: kick.RefOf(stagedRollout()), Gone: true})
	require.NoError(t, err)
	require.Equal(t, []sent{{"open rollout/kcp-system/keda-regular-1.1.0/r-uid", kick.Kick{
		Reason: "ModuleRollout is gone", Kind: "ModuleRollout", Namespace: "kcp-system", Name: "keda-regular-1.1.0", Urgent: true, Gone: true,
	}}}, kicks.sent)
}

func TestNoKickOfARolloutIsDropped(t *testing.T) {
	w, _, _ := newWatcher(t, stagedRollout())
	w.Kicks = deaf{}
	for _, gone := range []bool{false, true} {
		_, err := w.kickRollout(t.Context(), rolloutRequest{Ref: kick.RefOf(stagedRollout()), Gone: gone})
		require.ErrorIs(t, err, errBusy)
	}
	require.ErrorIs(t, w.kickOverdueRollouts(t.Context()), errBusy)
}

// waitsUntil sets a phase and a deadline.
func waitsUntil(phase v1beta2.RolloutPhase, at time.Time) func(*v1beta2.ModuleRollout) {
	return func(r *v1beta2.ModuleRollout) {
		r.Status.Phase, r.Status.ObservedGeneration, r.Status.WaitsUntil = phase, r.Generation, new(metav1.NewTime(at))
	}
}

func TestWhichRolloutsAreOverdue(t *testing.T) {
	observed := func(phase v1beta2.RolloutPhase) func(*v1beta2.ModuleRollout) {
		return func(r *v1beta2.ModuleRollout) { r.Status.Phase, r.Status.ObservedGeneration = phase, r.Generation }
	}
	for name, test := range map[string]struct {
		change func(*v1beta2.ModuleRollout)
		want   bool
	}{
		"nothing was done about it":                          {func(*v1beta2.ModuleRollout) {}, true},
		"it was edited":                                      {func(r *v1beta2.ModuleRollout) { observed(v1beta2.RolloutHeld)(r); r.Generation++ }, true},
		"its deadline is over":                               {waitsUntil(v1beta2.RolloutProgressing, now.Add(-61*time.Second)), true},
		"its soak time is over":                              {waitsUntil(v1beta2.RolloutSoaking, now.Add(-time.Hour)), true},
		"not while it is acting on its deadline":             {waitsUntil(v1beta2.RolloutProgressing, now.Add(-59*time.Second)), false},
		"not while it soaks":                                 {waitsUntil(v1beta2.RolloutSoaking, now.Add(time.Hour)), false},
		"not while it waits for people":                      {observed(v1beta2.RolloutAwaitingApproval), false},
		"not while it is held":                               {observed(v1beta2.RolloutHeld), false},
		"not while it is pending":                            {observed(v1beta2.RolloutPending), false},
		"its version should have been promoted":              {promotedUntil(now.Add(-61 * time.Second)), true},
		"not while its version is observed before promotion": {promotedUntil(now.Add(time.Hour)), false},
		"not once it has ended":                              {waitsUntil(v1beta2.RolloutCompleted, now.Add(-time.Hour)), false},
		"not once it has ended, even if it was edited":       {func(r *v1beta2.ModuleRollout) { observed(v1beta2.RolloutAborted)(r); r.Generation++ }, false},
		"not if it belongs to another instance":              {ofAnother, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, kicks, _ := newWatcher(t, stagedRollout(test.change))
			require.NoError(t, w.kickOverdueRollouts(t.Context()))
			if test.want {
				require.Len(t, kicks.sent, 1)
				require.Equal(t, "rollout/kcp-system/keda-regular-1.1.0/r-uid", kicks.sent[0].to)
				return
			}
			require.Empty(t, kicks.sent)
		})
	}
}

func TestOverdueRolloutsAreKickedOnceInEachResyncInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, kicks, _ := newWatcher(t, stagedRollout(waitsUntil(v1beta2.RolloutProgressing, now.Add(-time.Hour))), stagedRollout(called("soaks"), waitsUntil(v1beta2.RolloutSoaking, now.Add(time.Hour))))
		w.ResyncInterval = 5 * time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 16*time.Minute)
		defer cancel()
		require.NoError(t, w.compareRollouts(ctx))
		require.Len(t, kicks.sent, 3)
	})
}

// once is a Temporal that accepts no kick at first.
type once struct {
	recorder
	failed bool
}

func (o *once) Rollout(ctx context.Context, ref kick.Ref, k kick.Kick) error {
	if !o.failed {
		o.failed = true
		return errors.New("busy")
	}
	return o.recorder.Rollout(ctx, ref, k)
}

func TestTheLeaderKeepsComparingRolloutsAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := newWatcher(t, stagedRollout())
		kicks := &once{}
		w.ResyncInterval, w.Kicks = time.Minute, kicks
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Second)
		defer cancel()
		require.NoError(t, w.compareRollouts(ctx))
		require.Len(t, kicks.sent, 1)
	})
}
