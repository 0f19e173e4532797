package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// stagedCatalog is a catalog in memory with the controller that creates and removes its rollouts.
type stagedCatalog struct {
	*controllers
	*desiredtest.Cluster
	t *testing.T
}

func newStagedCatalog(t *testing.T, objects ...client.Object) *stagedCatalog {
	t.Helper()
	cluster := desiredtest.NewCluster("cp", objects...)
	return &stagedCatalog{&controllers{
		settings: desired.Settings{}.WithDefaults(), reader: cluster, live: cluster, writer: cluster, status: cluster.Status(),
	}, cluster, t}
}

// reconcile reconciles the rollouts of keda, and returns whether to do it again.
func (s *stagedCatalog) reconcile() (again bool) {
	s.t.Helper()
	result, err := s.reconcileRollouts(s.t.Context(), moduleRequest{types.NamespacedName{Namespace: desiredtest.Namespace, Name: "keda"}})
	require.NoError(s.t, err)
	return result.RequeueAfter > 0
}

// rollouts returns all rollouts, oldest first.
func (s *stagedCatalog) rollouts() []v1beta2.ModuleRollout {
	s.t.Helper()
	var list v1beta2.ModuleRolloutList
	require.NoError(s.t, s.List(s.t.Context(), &list))
	slices.SortFunc(list.Items, func(a, b v1beta2.ModuleRollout) int { return int(a.Spec.Sequence - b.Spec.Sequence) })
	return list.Items
}

// legs returns a text for each rollout, such as "2: 1.0.0 -> 1.1.0", with the channel unless it is regular.
func (s *stagedCatalog) legs() []string {
	s.t.Helper()
	legs := []string{}
	for _, r := range s.rollouts() {
		leg := fmt.Sprintf("%d: %s -> %s", r.Spec.Sequence, r.Spec.From, r.Spec.To)
		if r.Spec.Channel != "regular" {
			leg += " " + cmp.Or(r.Spec.Channel, "everywhere")
		}
		legs = append(legs, leg)
	}
	return legs
}

// assign gives the channel regular a version.
func (s *stagedCatalog) assign(version string) {
	s.t.Helper()
	meta := desiredtest.ReleaseMeta("keda")
	require.NoError(s.t, s.Get(s.t.Context(), client.ObjectKeyFromObject(meta), meta))
	meta.Spec.Channels = []v1beta2.ChannelVersion{{Channel: "regular", Version: version}}
	require.NoError(s.t, s.Update(s.t.Context(), meta))
}

// reach sets the phase of the newest rollout.
func (s *stagedCatalog) reach(phase v1beta2.RolloutPhase) {
	s.t.Helper()
	all := s.rollouts()
	newest := &all[len(all)-1]
	newest.Status.Phase = phase
	newest.Status.Reverts = phase == v1beta2.RolloutReverting || phase == v1beta2.RolloutReverted
	require.NoError(s.t, s.Status().Update(s.t.Context(), newest))
}

// release gives the channel a version, and sets the phase of its rollout.
func (s *stagedCatalog) release(version string, phase v1beta2.RolloutPhase) {
	s.t.Helper()
	s.assign(version)
	require.False(s.t, s.reconcile())
	s.reach(phase)
}

func policy(name string, changes ...func(*v1beta2.RolloutPolicy)) *v1beta2.RolloutPolicy {
	p := &v1beta2.RolloutPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: desiredtest.Namespace, Name: name, UID: types.UID(name), Generation: 1}}
	p.Spec.Stages = []v1beta2.RolloutStage{{Name: "canary", Percent: new(int32(5))}}
	p.Spec.Concurrency = new(intstr.FromInt32(7))
	for _, change := range changes {
		change(p)
	}
	return p
}

func keda(assignments ...string) *v1beta2.ModuleReleaseMeta {
	return desiredtest.ReleaseMeta("keda", assignments...)
}

func mandatoryKeda(version string) *v1beta2.ModuleReleaseMeta {
	meta := keda()
	meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: version}
	return meta
}

func TestAPolicyMakesAFirstRolloutOfTheVersionThatTheChannelHas(t *testing.T) {
	s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
	require.False(t, s.reconcile())
	all := s.rollouts()
	require.Len(t, all, 1)
	r := all[0]
	require.Equal(t, v1beta2.ModuleRolloutSpec{
		ModuleName: "keda", Channel: "regular", From: "1.0.0", To: "1.0.0", Policy: "careful", Sequence: 1, Plan: policy("careful").Spec.RolloutPlan,
	}, r.Spec)
	require.Equal(t, map[string]string{shared.LabelManagedBy: "lifecycle-manager", shared.LabelModuleName: "keda"}, r.Labels)
	require.Regexp(t, `^keda-regular-1\.0\.0-[0-9a-f]{6}$`, r.Name)
	require.Equal(t, desiredtest.Namespace, r.Namespace)
}

func TestWithoutAPolicyThereIsNoRollout(t *testing.T) {
	s := newStagedCatalog(t, keda("regular=1.0.0"))
	require.False(t, s.reconcile())
	s.assign("1.1.0")
	require.False(t, s.reconcile())
	require.Empty(t, s.rollouts())
}

func TestAnEditOfTheReleaseMetaMakesOneRollout(t *testing.T) {
	s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
	require.False(t, s.reconcile())
	s.reach(v1beta2.RolloutCompleted)
	s.assign("1.1.0")
	s.Forget()
	for range 3 {
		require.False(t, s.reconcile())
	}
	require.Equal(t, []string{"1: 1.0.0 -> 1.0.0", "2: 1.0.0 -> 1.1.0"}, s.legs())
	require.Len(t, s.writes("create ModuleRollout"), 1)
	require.Equal(t, policy("careful").Spec.RolloutPlan, s.rollouts()[1].Spec.Plan)

	s.Forget()
	require.False(t, s.reconcile())
	require.Empty(t, s.Writes(), "nothing is left to do")
}

// writes returns the writes that begin with prefix.
func (s *stagedCatalog) writes(prefix string) []string {
	var all []string
	for _, write := range s.Writes() {
		if strings.HasPrefix(write, prefix) {
			all = append(all, write)
		}
	}
	return all
}

// The informer does not have the rollout yet that this leader or the one before has just created.
func TestAStaleInformerMakesNoSecondRollout(t *testing.T) {
	for name, known := range map[string]string{"the first": "1.0.0", "another": "1.1.0"} {
		s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
		if known == "1.1.0" {
			require.False(t, s.reconcile())
			s.assign("1.1.0")
		}
		meta := keda()
		require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(meta), meta))
		objects := []client.Object{policy("careful"), meta}
		for _, r := range s.rollouts() {
			objects = append(objects, &r)
		}
		before := len(s.rollouts())
		stale := desiredtest.NewCluster("cp", objects...)
		s.reader = stale
		s.status = stale.Status()

		require.False(t, s.reconcile(), name)
		require.Len(t, s.rollouts(), before+1, name)
		require.True(t, s.reconcile(), "it requeues until the informer has the rollout")
		require.Len(t, s.rollouts(), before+1, name)

		s.reader = s.Cluster
		require.False(t, s.reconcile(), name)
		require.Len(t, s.rollouts(), before+1, name)
	}
}

func TestWhichVersionTheNextRolloutStartsFrom(t *testing.T) {
	for phase, want := range map[v1beta2.RolloutPhase]string{
		v1beta2.RolloutCompleted:   "3: 1.1.0 -> 1.2.0",
		v1beta2.RolloutProgressing: "3: 1.1.0 -> 1.2.0",
		v1beta2.RolloutHeld:        "3: 1.1.0 -> 1.2.0",
		v1beta2.RolloutAborted:     "3: 1.1.0 -> 1.2.0",
		v1beta2.RolloutReverting:   "3: 1.0.0 -> 1.2.0",
		v1beta2.RolloutReverted:    "3: 1.0.0 -> 1.2.0",
	} {
		s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
		s.release("1.0.0", v1beta2.RolloutCompleted)
		s.release("1.1.0", phase)
		s.assign("1.2.0")
		require.False(t, s.reconcile())
		require.Equal(t, []string{"1: 1.0.0 -> 1.0.0", "2: 1.0.0 -> 1.1.0", want}, s.legs(), phase)
	}
}

func TestGoingBackToThePreviousVersionIsARolloutToo(t *testing.T) {
	s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
	s.release("1.0.0", v1beta2.RolloutCompleted)
	s.release("1.1.0", v1beta2.RolloutReverted)
	s.assign("1.0.0")
	require.False(t, s.reconcile())
	require.Equal(t, []string{"1: 1.0.0 -> 1.0.0", "2: 1.0.0 -> 1.1.0", "3: 1.0.0 -> 1.0.0"}, s.legs())
}

func TestADeletedRolloutIsCreatedAgain(t *testing.T) {
	s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
	s.release("1.0.0", v1beta2.RolloutCompleted)
	s.release("1.1.0", v1beta2.RolloutHeld)
	before := s.rollouts()[1]
	require.NoError(t, s.Delete(t.Context(), &before))
	require.False(t, s.reconcile())
	require.Equal(t, []string{"1: 1.0.0 -> 1.0.0", "2: 1.0.0 -> 1.1.0"}, s.legs())
	require.NotEqual(t, before.UID, s.rollouts()[1].UID)
}

func TestAnEditOfThePolicyAppliesToTheNextRollout(t *testing.T) {
	s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
	s.release("1.0.0", v1beta2.RolloutCompleted)
	s.release("1.1.0", v1beta2.RolloutProgressing)
	p := policy("careful")
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(p), p))
	p.Spec.Concurrency = new(intstr.FromString("50%"))
	require.NoError(t, s.Update(t.Context(), p))
	require.False(t, s.reconcile())
	require.Equal(t, "7", s.rollouts()[1].Spec.Plan.Concurrency.String())
	s.assign("1.2.0")
	require.False(t, s.reconcile())
	require.Equal(t, "50%", s.rollouts()[2].Spec.Plan.Concurrency.String())
}

func TestEachChannelHasRolloutsOfItsOwn(t *testing.T) {
	s := newStagedCatalog(t, policy("careful", func(p *v1beta2.RolloutPolicy) { p.Spec.Channels = []string{"regular", "fast"} }), keda("regular=1.0.0", "fast=2.0.0", "slow=0.9.0"))
	require.False(t, s.reconcile())
	require.ElementsMatch(t, []string{"1: 1.0.0 -> 1.0.0", "1: 2.0.0 -> 2.0.0 fast"}, s.legs())
	s.assign("1.1.0")
	require.False(t, s.reconcile())
	require.ElementsMatch(t, []string{"1: 1.0.0 -> 1.0.0", "1: 2.0.0 -> 2.0.0 fast", "2: 1.0.0 -> 1.1.0"}, s.legs(), "the rollout of a removed channel stays")
}

func TestAMandatoryModuleHasRolloutsWithoutAChannel(t *testing.T) {
	s := newStagedCatalog(t, policy("careful", func(p *v1beta2.RolloutPolicy) { p.Spec.Mandatory = true }), mandatoryKeda("1.0.0-RC1+build.7"))
	require.False(t, s.reconcile())
	require.Equal(t, []string{"1: 1.0.0-RC1 -> 1.0.0-RC1 everywhere"}, s.legs(), "build metadata is ignored")
	require.Regexp(t, `^keda-1\.0\.0-rc1-[0-9a-f]{6}$`, s.rollouts()[0].Name)
	require.False(t, s.reconcile())
	require.Len(t, s.rollouts(), 1)
}

func TestAModuleNameMayBeTooLongForALabel(t *testing.T) {
	long := strings.Repeat("a", 64)
	s := newStagedCatalog(t, policy("careful"), desiredtest.ReleaseMeta(long, "regular=1.0.0"))
	_, err := s.reconcileRollouts(t.Context(), moduleRequest{types.NamespacedName{Namespace: desiredtest.Namespace, Name: long}})
	require.NoError(t, err)
	require.Len(t, s.rollouts(), 1)
	require.Equal(t, long, s.rollouts()[0].Spec.ModuleName)
	require.Equal(t, map[string]string{shared.LabelManagedBy: "lifecycle-manager"}, s.rollouts()[0].Labels)
}

func TestFailedReadsAndWritesAreRetried(t *testing.T) {
	busy := errors.New("busy")
	for _, what := range []string{
		"list ModuleReleaseMetaList ", "list RolloutPolicyList ", "list ModuleRolloutList ", "create ModuleRollout", "patch status RolloutPolicy", "delete ModuleRollout",
	} {
		s := newStagedCatalog(t, policy("careful"), keda("regular=1.0.0"))
		if strings.HasPrefix(what, "delete") {
			s.release("1.0.0", v1beta2.RolloutCompleted)
			require.NoError(t, s.Delete(t.Context(), policy("careful")))
		}
		s.Fail = func(verb, object string) error {
			if strings.HasPrefix(verb+" "+object, what) {
				return busy
			}
			return nil
		}
		_, err := s.reconcileRollouts(t.Context(), moduleRequest{types.NamespacedName{Namespace: desiredtest.Namespace, Name: "keda"}})
		require.ErrorIs(t, err, busy, what)
	}
}

func TestWhichModulesAnEventIsAbout(t *testing.T) {
	s := newStagedCatalog(t, keda("regular=1.0.0"), desiredtest.ReleaseMeta("btp", "regular=1.0.0"))
	of := func(handle func(q moduleQueue)) []string {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[moduleRequest]())
		defer q.ShutDown()
		handle(q)
		var names []string
		for q.Len() > 0 {
			req, _ := q.Get()
			require.Equal(t, desiredtest.Namespace, req.Namespace)
			names = append(names, req.Name)
			q.Done(req)
		}
		return names
	}
	events := moduleEvents(s.modulesOf)
	edited := policy("careful")
	edited.Generation++
	for name, handle := range map[string]func(context.Context, moduleQueue){
		"created": func(ctx context.Context, q moduleQueue) {
			events.Create(ctx, event.TypedCreateEvent[*v1beta2.RolloutPolicy]{Object: policy("careful")}, q)
		},
		"updated": func(ctx context.Context, q moduleQueue) {
			events.Update(ctx, event.TypedUpdateEvent[*v1beta2.RolloutPolicy]{ObjectOld: policy("careful"), ObjectNew: edited}, q)
		},
		"deleted": func(ctx context.Context, q moduleQueue) {
			events.Delete(ctx, event.TypedDeleteEvent[*v1beta2.RolloutPolicy]{Object: policy("careful")}, q)
		},
	} {
		require.ElementsMatch(t, []string{"keda", "btp", ""}, of(func(q moduleQueue) { handle(t.Context(), q) }), name)
	}
}

func TestStatusWritesOfARolloutDoNotReconcileItsModule(t *testing.T) {
	before := &v1beta2.ModuleRollout{ObjectMeta: metav1.ObjectMeta{Generation: 1, UID: "a"}, Status: v1beta2.ModuleRolloutStatus{Phase: v1beta2.RolloutProgressing}}
	for name, test := range map[string]struct {
		change func(*v1beta2.ModuleRollout)
		want   bool
	}{
		"progress":            {func(r *v1beta2.ModuleRollout) { r.Status.Progress, r.Status.Released = "3/7", 5 }, false},
		"an annotation":       {func(r *v1beta2.ModuleRollout) { r.Annotations = map[string]string{"a": "b"} }, false},
		"its end":             {func(r *v1beta2.ModuleRollout) { r.Status.Phase = v1beta2.RolloutCompleted }, true},
		"a wish":              {func(r *v1beta2.ModuleRollout) { r.Generation++ }, true},
		"whose it is":         {func(r *v1beta2.ModuleRollout) { r.Labels = map[string]string{"a": "b"} }, true},
		"another of its name": {func(r *v1beta2.ModuleRollout) { r.UID = "b" }, true},
		"its deletion":        {func(r *v1beta2.ModuleRollout) { r.DeletionTimestamp = new(metav1.Now()) }, true},
	} {
		after := before.DeepCopy()
		test.change(after)
		require.Equal(t, test.want, matters(before, after), name)
	}
}
