package watchers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// hasty is a queue without delays. It records the delay of the last AddAfter.
type hasty[R comparable] struct {
	workqueue.TypedRateLimitingInterface[R]
	lag *time.Duration
}

func (h hasty[R]) AddAfter(request R, lag time.Duration) {
	*h.lag = lag
	h.Add(request)
}

// asked returns the requests that a handler adds, merged by the queue.
func asked[R comparable](handle func(q workqueue.TypedRateLimitingInterface[R])) []R {
	all, _ := askedAfter(handle)
	return all
}

// askedAfter is asked, and also returns the delay of the last delayed request.
func askedAfter[R comparable](handle func(q workqueue.TypedRateLimitingInterface[R])) ([]R, time.Duration) {
	q := hasty[R]{workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[R]()), new(time.Duration)}
	defer q.ShutDown()
	handle(q)
	var all []R
	for q.Len() > 0 {
		request, _ := q.Get()
		all = append(all, request)
		q.Done(request)
	}
	return all, *q.lag
}

func TestWhichKymaEventsAreHandled(t *testing.T) {
	w, _, _ := newWatcher(t)
	events, ctx := w.kymaEvents(), t.Context()
	created := func(atStart bool) []kymaRequest {
		return asked(func(q kymaQueue) {
			events.Create(ctx, event.TypedCreateEvent[*v1beta2.Kyma]{Object: kymaWith(nil), IsInInitialList: atStart}, q)
		})
	}
	updated := func(change func(*v1beta2.Kyma)) []kymaRequest {
		return asked(func(q kymaQueue) {
			// The queue merges a hundred events of one kind into one request.
			for range 100 {
				events.Update(ctx, event.TypedUpdateEvent[*v1beta2.Kyma]{ObjectOld: kymaWith(nil), ObjectNew: kymaWith(change)}, q)
			}
		})
	}
	own := []kymaRequest{{Ref: demo, Own: true}}
	require.Equal(t, own, created(false))
	require.Equal(t, []kymaRequest{{Ref: demo}}, created(true), "a listed Kyma did not change just now")
	require.Equal(t, own, updated(func(k *v1beta2.Kyma) { k.Generation = 3 }))
	require.Equal(t, own, updated(func(k *v1beta2.Kyma) { k.DeletionTimestamp = &metav1.Time{Time: now} }), "even if the generation did not change")
	require.Equal(t, own, updated(func(k *v1beta2.Kyma) { k.Labels = map[string]string{"a": "b"} }))
	require.Equal(t, own, updated(func(k *v1beta2.Kyma) { k.Annotations = map[string]string{"a": "b"} }))
	require.Empty(t, updated(func(k *v1beta2.Kyma) { k.ResourceVersion, k.Status.State = "9", "Ready" }), "our own status write")
	require.Equal(t, []kymaRequest{{Ref: demo, Gone: true}, {Ref: kick.Ref{Namespace: "kcp-system", Name: "demo", UID: "new"}, Own: true}},
		updated(func(k *v1beta2.Kyma) { k.UID = "new" }), "a replaced Kyma causes two requests")
	require.Equal(t, []kymaRequest{{Ref: demo, Gone: true}}, asked(func(q kymaQueue) {
		events.Delete(ctx, event.TypedDeleteEvent[*v1beta2.Kyma]{Object: kymaWith(nil)}, q)
	}))
}

// A leader that starts lists the whole fleet. It must compute a digest for each Kyma with an unchanged generation.
func TestEditsMadeWithoutALeaderAreHandledFirst(t *testing.T) {
	w, _, _ := newWatcher(t)
	events, q := w.kymaEvents(), priorityqueue.New[kymaRequest]("test")
	defer q.ShutDown()
	list := func(name string, change func(*v1beta2.Kyma)) {
		kyma := kymaWith(change)
		kyma.Name = name
		events.Create(t.Context(), event.TypedCreateEvent[*v1beta2.Kyma]{Object: kyma, IsInInitialList: true}, q)
	}
	list("a", nil)
	list("b", nil)
	list("edited", func(k *v1beta2.Kyma) { k.Generation = 3 })
	list("deleted", func(k *v1beta2.Kyma) { k.DeletionTimestamp = &metav1.Time{Time: now} })
	var names []string
	for range 4 {
		req, _ := q.Get()
		names = append(names, req.Name)
		q.Done(req)
	}
	require.Equal(t, []string{"edited", "deleted", "a", "b"}, names)
}

func TestWhichManifestEventsAreHandled(t *testing.T) {
	w, _, _ := newWatcher(t)
	events, ctx := w.manifestEvents(), t.Context()
	ref := kick.RefOf(manifestWith(nil))
	updated := func(change func(*v1beta2.Manifest)) []manifestRequest {
		return asked(func(q manifestQueue) {
			for range 100 {
				events.Update(ctx, event.TypedUpdateEvent[*v1beta2.Manifest]{ObjectOld: manifestWith(nil), ObjectNew: manifestWith(change)}, q)
			}
		})
	}
	require.Equal(t, []manifestRequest{{Ref: ref}}, asked(func(q manifestQueue) {
		events.Create(ctx, event.TypedCreateEvent[*v1beta2.Manifest]{Object: manifestWith(nil)}, q)
	}))
	require.Equal(t, []manifestRequest{{Ref: ref}}, updated(func(m *v1beta2.Manifest) { m.Generation = 2 }))
	require.Empty(t, updated(func(m *v1beta2.Manifest) { m.Status.State, m.ResourceVersion = "Ready", "9" }))
	left := manifestRequest{Ref: ref, Gone: true, Kyma: demo}
	require.Equal(t, []manifestRequest{left, {Ref: kick.Ref{Namespace: "kcp-system", Name: "demo-m", UID: "new"}}},
		updated(func(m *v1beta2.Manifest) { m.UID = "new" }))
	for name, c := range map[string]struct {
		kyma *v1beta2.Kyma
		lag  time.Duration
	}{
		"of a living Kyma": {kyma: kymaWith(nil)},
		"of a Kyma under deletion, whose workflow removed it": {
			kyma: kymaWith(func(k *v1beta2.Kyma) {
				k.DeletionTimestamp, k.Finalizers = &metav1.Time{Time: now}, []string{shared.FinalizerKyma}
			}),
			lag: removalLag,
		},
	} {
		w, _, _ := newWatcher(t, c.kyma)
		requests, lag := askedAfter(func(q manifestQueue) {
			w.manifestEvents().Delete(ctx, event.TypedDeleteEvent[*v1beta2.Manifest]{Object: manifestWith(nil)}, q)
		})
		require.Equal(t, []manifestRequest{left}, requests, name)
		require.Equal(t, c.lag, lag, name)
	}
}

// A lost plan is recorded again. Its Manifest was refused meanwhile and is otherwise unchanged.
func TestARefusedManifestIsKickedOnceItsPlanIsRecorded(t *testing.T) {
	refused := manifestWith(func(m *v1beta2.Manifest) {
		m.Status.Conditions = []metav1.Condition{{Type: string(shared.ConditionInstallation), Status: metav1.ConditionFalse, Reason: manifests.ReasonNotPlanned}}
	})
	lost := kymaWith(nil)
	recorded := kymaWith(func(k *v1beta2.Kyma) { k.Status.Planned = []v1beta2.PlannedManifest{planned.Record(refused, false)} })
	want := []manifestRequest{{Ref: kick.RefOf(refused)}}
	planEvent := func(before, after *v1beta2.Kyma, m *v1beta2.Manifest) []manifestRequest {
		w, _, _ := newWatcher(t, m)
		return asked(func(q manifestQueue) {
			w.planEvents().Update(t.Context(), event.TypedUpdateEvent[*v1beta2.Kyma]{ObjectOld: before, ObjectNew: after}, q)
		})
	}
	require.Equal(t, want, planEvent(lost, recorded, refused))
	require.Empty(t, planEvent(recorded, recorded, refused), "an unchanged status")
	require.Empty(t, planEvent(lost, recorded, manifestWith(nil)), "a Manifest that was not refused")
	edited := refused.DeepCopy()
	edited.Spec.Version = "9.9.9"
	require.Empty(t, planEvent(lost, recorded, edited), "a Manifest that is not as planned: writing it is an event of its own")

	refusedNow := func(kyma *v1beta2.Kyma) []manifestRequest {
		w, _, _ := newWatcher(t, kyma, refused)
		return asked(func(q manifestQueue) {
			w.manifestEvents().Update(t.Context(), event.TypedUpdateEvent[*v1beta2.Manifest]{ObjectOld: manifestWith(nil), ObjectNew: refused}, q)
		})
	}
	require.Equal(t, want, refusedNow(recorded), "the plan was recorded while the Manifest was being refused")
	require.Empty(t, refusedNow(lost))
}

func TestWhichSecretEventsAreHandled(t *testing.T) {
	events, ctx := secretEvents(), t.Context()
	secret := func(version string) *metav1.PartialObjectMetadata {
		s := fleet.SecretMetadata()
		s.Namespace, s.Name, s.ResourceVersion = "kcp-system", "s", version
		s.Labels = map[string]string{shared.LabelKymaName: "demo"}
		return s
	}
	of := func(version string) []secretRequest {
		return []secretRequest{{Namespace: "kcp-system", KymaName: "demo", Cause: cause{Kind: kindSecret, Namespace: "kcp-system", Name: "s", ResourceVersion: version}}}
	}
	created := func(atStart bool) []secretRequest {
		return asked(func(q secretQueue) {
			events.Create(ctx, event.TypedCreateEvent[*metav1.PartialObjectMetadata]{Object: secret("1"), IsInInitialList: atStart}, q)
		})
	}
	updated := func(version string) []secretRequest {
		return asked(func(q secretQueue) {
			events.Update(ctx, event.TypedUpdateEvent[*metav1.PartialObjectMetadata]{ObjectOld: secret("1"), ObjectNew: secret(version)}, q)
		})
	}
	require.Equal(t, of("1"), created(false))
	require.Empty(t, created(true))
	require.Equal(t, of("2"), updated("2"))
	require.Empty(t, updated("1"), "a resynchronization of the cache")
	require.Equal(t, of("1"), asked(func(q secretQueue) {
		events.Delete(ctx, event.TypedDeleteEvent[*metav1.PartialObjectMetadata]{Object: secret("1")}, q)
	}))
}

// indexed returns a watcher on a cache with the index of Kymas by what their modules can resolve to.
func indexed(t *testing.T, objects ...client.Object) *watcher {
	t.Helper()
	w, _, _ := newWatcher(t)
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	w.reader = fleettest.Indexed(fake.NewClientBuilder().WithScheme(scheme)).WithObjects(objects...).
		WithIndex(&v1beta2.Kyma{}, desired.IndexKymaReferences, desired.KymaReferencesIndexer).
		WithIndex(&v1beta2.ModuleReleaseMeta{}, desired.IndexReleaseMetaKeys, desired.ReleaseMetaKeysIndexer).
		WithIndex(&v1beta2.ModuleRollout{}, desired.IndexRolloutModule, desired.RolloutModuleIndexer).Build()
	return w
}

func TestWhichKymasACatalogChangeConcerns(t *testing.T) {
	ctx := t.Context()
	wants := func(name string, modules ...string) *v1beta2.Kyma {
		return named(name, func(k *v1beta2.Kyma) {
			for _, module := range modules {
				k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: module})
			}
		})
	}
	w := indexed(t, wants("keda", "keda"), wants("both", "keda", "istio"), wants("istio", "istio"), wants("none"))
	template := func(module, version string) *v1beta2.ModuleTemplate {
		template := desiredtest.Template(module, "1.0.0")
		template.ResourceVersion = version
		return template
	}
	templates := catalogHandler(w, "ModuleTemplate", w.keysOfTemplate)
	names := func(handle func(q kymaQueue)) []string {
		all := []string{}
		for _, request := range asked(handle) {
			require.Equal(t, "ModuleTemplate", request.Cause.Kind)
			require.Equal(t, "2", request.Cause.ResourceVersion, "so that workers know how fresh their caches must be")
			require.False(t, request.Own)
			all = append(all, request.Name)
		}
		return all
	}
	created := func(atStart bool) []string {
		return names(func(q kymaQueue) {
			templates.Create(ctx, event.TypedCreateEvent[*v1beta2.ModuleTemplate]{Object: template("keda", "2"), IsInInitialList: atStart}, q)
		})
	}
	updated := func(before, after *v1beta2.ModuleTemplate) []string {
		return names(func(q kymaQueue) {
			templates.Update(ctx, event.TypedUpdateEvent[*v1beta2.ModuleTemplate]{ObjectOld: before, ObjectNew: after}, q)
		})
	}
	require.ElementsMatch(t, []string{"keda", "both"}, created(false))
	require.Empty(t, created(true), "the digest of each Kyma covers it")
	require.Empty(t, updated(template("keda", "1"), template("keda", "2")), "only our own fields changed")
	changed := template("keda", "2")
	changed.Generation = 7
	require.ElementsMatch(t, []string{"keda", "both"}, updated(template("keda", "1"), changed))
	moved := template("istio", "2")
	moved.Generation = 7
	require.ElementsMatch(t, []string{"keda", "both", "istio"}, updated(template("keda", "1"), moved), "Kymas that lose the module are notified too")
	require.ElementsMatch(t, []string{"keda", "both"}, names(func(q kymaQueue) {
		templates.Delete(ctx, event.TypedDeleteEvent[*v1beta2.ModuleTemplate]{Object: template("keda", "2")}, q)
	}))
}

func TestThePacingDelayDependsOnTheKymaAndTheChange(t *testing.T) {
	require.NotEqual(t, desired.PacingDelay("a", "first", time.Hour), desired.PacingDelay("a", "second", time.Hour),
		"else the same clusters would always come first")
	require.NotEqual(t, desired.PacingDelay("a", "first", time.Hour), desired.PacingDelay("b", "first", time.Hour))
}

func TestWhichKicksAreUrgent(t *testing.T) {
	deleted := func(k client.Object) {
		k.SetDeletionTimestamp(&metav1.Time{Time: now})
		k.SetFinalizers([]string{"operator.kyma-project.io/Kyma"})
	}
	w, kicks, _ := newWatcher(t, kymaWith(func(k *v1beta2.Kyma) { deleted(k) }))
	_, err := w.kickKyma(t.Context(), kymaRequest{Ref: demo})
	require.NoError(t, err)
	require.True(t, kicks.sent[0].kick.Urgent)
	require.True(t, kicks.sent[0].kick.Deleting)

	for name, urgent := range map[string]bool{"changed": true, "deleted": true, "unsettled": false} {
		m := manifestWith(func(m *v1beta2.Manifest) {
			switch name {
			case "changed":
				m.Generation = 2
			case "deleted":
				deleted(m)
			case "unsettled":
				m.Status.Settled = false
			}
		})
		w, kicks, _ := newWatcher(t, m)
		_, err := w.kickManifest(t.Context(), manifestRequest{Ref: kick.RefOf(m)})
		require.NoError(t, err)
		require.Equal(t, urgent, kicks.sent[0].kick.Urgent, name)
	}
}

func TestAKymaIsKickedWhenTheGarbageCollectorReleasesItsRemains(t *testing.T) {
	orphaning := kymaWith(func(k *v1beta2.Kyma) {
		k.DeletionTimestamp = &metav1.Time{Time: now}
		k.Finalizers = []string{"operator.kyma-project.io/Kyma", metav1.FinalizerOrphanDependents}
	})
	orphaned := orphaning.DeepCopy()
	orphaned.Finalizers = orphaned.Finalizers[:1]
	w, _, _ := newWatcher(t, orphaned)
	update := func(before, after *v1beta2.Kyma) []kymaRequest {
		return asked(func(q kymaQueue) {
			w.kymaEvents().Update(t.Context(), event.TypedUpdateEvent[*v1beta2.Kyma]{ObjectOld: before, ObjectNew: after}, q)
		})
	}
	require.Equal(t, []kymaRequest{{Ref: demo, Own: true}}, update(orphaning, orphaned))
	require.Empty(t, update(orphaned, orphaned))
}

// deaf is a Temporal that accepts no kick.
type deaf struct{}

var errBusy = errors.New("resource exhausted")

func (deaf) Kyma(context.Context, kick.Ref, kick.Kick) error               { return errBusy }
func (deaf) Manifest(context.Context, kick.Ref, kick.Ref, kick.Kick) error { return errBusy }
func (deaf) Watcher(context.Context, kick.Ref, kick.Kick) error            { return errBusy }
func (deaf) Rollout(context.Context, kick.Ref, kick.Kick) error            { return errBusy }
func (deaf) OpenKyma(context.Context, kick.Ref, kick.Kick) error           { return errBusy }
func (deaf) SignalOpen(context.Context, string, kick.Kick) error           { return errBusy }
func (deaf) Digest(context.Context, *v1beta2.Kyma) (string, error)         { return "", errBusy }
func (deaf) EnsureSweeps(context.Context) error                            { return errBusy }
func (deaf) Unknown(context.Context) (bool, error)                         { return false, errBusy }

// A kick that cannot be computed or delivered is an error of the request, so the queue retries it.
func TestNoKickIsDropped(t *testing.T) {
	changed := kymaWith(func(k *v1beta2.Kyma) { k.Status.InputsDigest = "before" })
	m := manifestWith(func(m *v1beta2.Manifest) { m.Generation = 2 })
	w, _, _ := newWatcher(t, changed, m)
	w.Kicks = deaf{}
	ctx := t.Context()
	for name, deliver := range map[string]func() error{
		"a Kyma changed":     func() error { _, err := w.kickKyma(ctx, kymaRequest{Ref: demo, Own: true}); return err },
		"a Kyma is gone":     func() error { _, err := w.kickKyma(ctx, kymaRequest{Ref: demo, Gone: true}); return err },
		"a Manifest changed": func() error { _, err := w.kickManifest(ctx, manifestRequest{Ref: kick.RefOf(m)}); return err },
		"a Manifest is gone": func() error { _, err := w.kickManifest(ctx, gone(m, "1")); return err },
		"an access Secret changed": func() error {
			_, err := w.kickForSecret(ctx, secretRequest{Namespace: "kcp-system", KymaName: "demo"})
			return err
		},
	} {
		require.ErrorIs(t, deliver(), errBusy, name)
	}
	kicks := &recorder{}
	w.Kicks, w.Inputs = kicks, deaf{}
	_, err := w.kickKyma(ctx, kymaRequest{Ref: demo, Own: true})
	require.ErrorIs(t, err, errBusy)
	require.Empty(t, kicks.sent)
}

// inOrder records evictions and kicks in one list.
type inOrder struct {
	*recorder
	all *[]string
}

func (o inOrder) Kyma(context.Context, kick.Ref, kick.Kick) error {
	*o.all = append(*o.all, "kick")
	return nil
}
func (o inOrder) Evict(string, string, string) { *o.all = append(*o.all, "evict") }

func TestAReconcileAfterAChangedSecretNeverFindsTheOldAccess(t *testing.T) {
	w, _, _ := newWatcher(t, kymaWith(nil))
	all := &[]string{}
	w.Kicks, w.Clusters = inOrder{all: all}, inOrder{all: all}
	_, err := w.kickForSecret(t.Context(), secretRequest{Namespace: "kcp-system", KymaName: "demo"})
	require.NoError(t, err)
	require.Equal(t, []string{"evict", "kick"}, *all)
}

func TestNoKymaIsKickedForItsAgentBeforeWorkersReadTheAuthoritiesAgain(t *testing.T) {
	for spread, latest := range map[time.Duration]time.Duration{0: agents.ReadEvery, time.Hour: time.Hour} {
		w, kicks, _ := newWatcher(t, kymaWith(nil))
		w.Settings.PacingSpan = spread
		require.NoError(t, w.kickForAgents(t.Context(), "changed"))
		require.Len(t, kicks.sent, 1)
		delay := kicks.sent[0].kick.NotBefore.Sub(w.Now())
		require.GreaterOrEqual(t, delay, agents.ReadEvery)
		require.LessOrEqual(t, delay, latest)
	}
}

func TestKicksAreSentAtALimitedRate(t *testing.T) {
	kyma := kymaWith(func(k *v1beta2.Kyma) { k.Status.InputsDigest = "before" })
	m := manifestWith(func(m *v1beta2.Manifest) { m.Status.Settled = false })
	w, kicks, _ := newWatcher(t, kyma, m)
	w.KickLimit = rate.NewLimiter(rate.Every(time.Hour), 1)
	w.KickLimit.Allow()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for name, deliver := range map[string]func() error{
		"a Kyma changed":            func() error { _, err := w.kickKyma(ctx, kymaRequest{Ref: demo}); return err },
		"a Manifest is not settled": func() error { _, err := w.kickManifest(ctx, manifestRequest{Ref: kick.RefOf(m)}); return err },
		"a Secret changed": func() error {
			_, err := w.kickForSecret(ctx, secretRequest{Namespace: "kcp-system", KymaName: "demo"})
			return err
		},
	} {
		require.Error(t, deliver(), name)
	}
	require.Empty(t, kicks.sent)
	require.InDelta(t, 50, float64(Options{}.withDefaults().KickLimit.Limit()), 0, "per second, by default")
}

// added collects what is added to a manager.
type added struct {
	manager.Manager
	runnables []manager.Runnable
}

func (a *added) Add(r manager.Runnable) error {
	a.runnables = append(a.runnables, r)
	return nil
}

// failing counts the calls. The first two calls fail.
type failing struct{ calls []time.Time }

func (f *failing) EnsureSweeps(context.Context) error {
	if f.calls = append(f.calls, time.Now()); len(f.calls) < 3 {
		return errBusy
	}
	return nil
}

func (f *failing) Unknown(context.Context) (bool, error) { return false, nil }

func TestTheLeaderMakesSureThatAllSweepsRunEveryFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := newWatcher(t)
		starter, mgr := &failing{}, &added{}
		w.Sweeps, w.Now = starter, time.Now
		require.NoError(t, w.addSweeps(mgr))
		require.Len(t, mgr.runnables, 1)
		elected, ok := mgr.runnables[0].(manager.LeaderElectionRunnable)
		require.True(t, !ok || elected.NeedLeaderElection(), "only the leader does")

		ctx, cancel := context.WithTimeout(t.Context(), 21*time.Minute)
		defer cancel()
		require.NoError(t, mgr.runnables[0].Start(ctx))
		require.GreaterOrEqual(t, len(starter.calls), 6)
		require.LessOrEqual(t, len(starter.calls), 7)
		require.Less(t, starter.calls[2].Sub(starter.calls[0]), time.Minute, "a failure is retried soon")
		require.Equal(t, 5*time.Minute, starter.calls[4].Sub(starter.calls[3]))
	})
}
