package advance

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// fleetOf returns a canary and another cluster, both with keda 1.0.0, and a release meta that asks for 1.1.0.
func fleetOf() (first, second *v1beta2.Kyma, objects []client.Object) {
	first, second = cluster("first", canary), cluster("second")
	return first, second, []client.Object{
		first, second, installed(first, "1.0.0"), installed(second, "1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.1.0"),
	}
}

// upgrade gives a cluster a version, like the workflow of its Kyma does.
func (b *bench) upgrade(kyma *v1beta2.Kyma, version string) {
	b.t.Helper()
	m := installed(kyma, version)
	require.NoError(b.t, b.Get(b.t.Context(), client.ObjectKeyFromObject(m), m))
	m.Spec.Version, m.Status.InstalledVersion = version, version
	require.NoError(b.t, b.Update(b.t.Context(), m))
}

func TestARolloutAdvancesFromStageToStageUntilItCompletes(t *testing.T) {
	first, second, objects := fleetOf()
	r := rolloutTo("1.1.0")
	b := newBench(t, append(objects, r)...)

	out := b.step(r)
	require.Equal(t, Out{
		Phase: "Progressing", Stage: "canary", Progress: "0/2", WaitsFor: "the clusters of stage canary to settle", Until: begun.Add(time.Minute),
	}, out)
	require.EqualValues(t, 0, r.Status.Stage)
	require.Equal(t, rollout.Everyone, r.Status.Released)
	require.EqualValues(t, 1, r.Status.ObservedGeneration)
	require.True(t, r.Status.StartedAt.Time.Equal(begun))
	require.True(t, r.Status.WaitsUntil.Time.Equal(begun.Add(15*time.Minute)), "the first of them has failed by then")

	b.upgrade(first, "1.1.0")
	require.Equal(t, "1/2", b.step(r).Progress)
	require.EqualValues(t, 1, r.Status.Stage)
	require.Equal(t, "rest", r.Status.StageName)

	b.upgrade(second, "1.1.0")
	out = b.step(r)
	require.Equal(t, Out{Ended: true, Phase: "Completed", Progress: "2/2"}, out)
}

// etcd was restored from a snapshot: later approvals and releases are lost, and time has passed.
func TestARolloutContinuesFromARestoredSnapshot(t *testing.T) {
	first, second, objects := fleetOf()
	r := rolloutTo("1.1.0", func(r *v1beta2.ModuleRollout) {
		canary := &r.Spec.Plan.Stages[0]
		canary.Soak = &metav1.Duration{Duration: 24 * time.Hour}
		canary.Approval = &v1beta2.RolloutApprovalRule{When: v1beta2.ApproveAfter}
	})
	b := newBench(t, append(objects, r)...)
	b.step(r)
	b.upgrade(first, "1.1.0")
	require.Equal(t, "Soaking", b.step(r).Phase)
	old := r.DeepCopy()
	old.ResourceVersion = ""
	snapshot := []client.Object{old, first, second, installed(first, "1.1.0"), installed(second, "1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.1.0")}

	b.now = b.now.Add(24 * time.Hour)
	require.Equal(t, "AwaitingApproval", b.step(r).Phase)
	r.Spec.Approvals = []v1beta2.RolloutApproval{{Stage: "canary", By: "ada"}}
	require.NoError(t, b.Update(t.Context(), r))
	require.Equal(t, "rest", b.step(r).Stage)
	b.upgrade(second, "1.1.0")
	require.True(t, b.step(r).Ended)

	restored := newBench(t, snapshot...)
	restored.now = b.now
	out := restored.step(r)
	require.Equal(t, "AwaitingApproval", out.Phase, "the approval is lost, and the soak time is already over")
	require.Equal(t, "canary", out.Stage)
	require.EqualValues(t, 0, r.Status.Stage, "the other cluster is not released")
}

// A cluster that does not change causes no kick. The clusters after it must not wait long for it.
func TestAReleaseToAClusterThatCannotBeUpdatedIsRecheckedSoon(t *testing.T) {
	for name, change := range map[string]func(*v1beta2.Kyma){
		"it is unreachable":            func(k *v1beta2.Kyma) { k.Status.Remote = &v1beta2.RemoteStatus{Reachable: new(false)} },
		"it has skip-reconciliation":   skipped[*v1beta2.Kyma],
		"it waits for another version": row(func(m *v1beta2.ModuleStatus) { m.Maintenance = true }),
	} {
		t.Run(name, func(t *testing.T) {
			first, _, objects := fleetOf()
			change(first)
			r := rolloutTo("1.1.0")
			b := newBench(t, append(objects, r)...)
			require.Equal(t, begun.Add(recheckQuiet), b.step(r).Until)
			require.EqualValues(t, 0, r.Status.Stage, "the cluster may update after all")
			out := b.step(r)
			require.EqualValues(t, 1, r.Status.Stage)
			require.Equal(t, begun.Add(time.Minute), out.Until, "the other cluster causes a kick")
		})
	}
}

func TestTheSameStepTwiceWritesOnce(t *testing.T) {
	_, _, objects := fleetOf()
	r := rolloutTo("1.1.0")
	b := newBench(t, append(objects, r)...)
	first := b.step(r)
	version := r.ResourceVersion
	b.now = b.now.Add(time.Minute)
	second := b.step(r)
	require.Equal(t, first.Until.Add(time.Minute), second.Until, "updating clusters are counted again")
	second.Until = first.Until
	require.Equal(t, first, second)
	require.Len(t, b.writes, 1)
	require.Equal(t, version, r.ResourceVersion)
}

func TestADecisionDoesNotOverwriteTheWriteOfAnother(t *testing.T) {
	_, _, objects := fleetOf()
	r := rolloutTo("1.1.0")
	b := newBench(t, append(objects, r)...)
	b.fails = func(verb string, _ runtime.Object) error {
		if verb != "patch" {
			return nil
		}
		b.fails = nil
		edited := r.DeepCopy()
		require.NoError(t, b.Get(t.Context(), client.ObjectKeyFromObject(r), edited))
		edited.Spec.Paused = true
		return b.Update(t.Context(), edited)
	}
	_, err := b.AdvanceRollout(t.Context(), In{Ref: kick.RefOf(r)})
	f := fault.Of(err)
	require.Equal(t, fault.Transient, f.Kind)
	require.Equal(t, clusters.ReasonConflict, f.Reason)
	require.Empty(t, b.recorded(), "a failed write records no Events")

	require.Equal(t, "Paused", b.step(r).Phase, "another attempt sees the other write")
	require.Zero(t, r.Status.Released)
}

func TestAnotherRolloutCountsAsGone(t *testing.T) {
	ours := rolloutTo("1.1.0")
	others := rolloutTo("1.2.0", ofAnotherInstance)
	going := rolloutTo("1.3.0", deleted)
	b := newBench(t, ours, others, going)
	for name, ref := range map[string]kick.Ref{
		"one that was never there": {Namespace: desiredtest.Namespace, Name: "unknown", UID: "uid"},
		"an earlier one":           {Namespace: ours.Namespace, Name: ours.Name, UID: "earlier"},
		"another instance's":       kick.RefOf(others),
		"one under deletion":       kick.RefOf(going),
	} {
		out, err := b.AdvanceRollout(t.Context(), In{Ref: ref})
		require.NoError(t, err, name)
		require.Equal(t, Out{Gone: true}, out, name)
	}
	require.Empty(t, b.writes)
}

func TestARolloutThatIsDeletedDuringAStepNeedsNoStatus(t *testing.T) {
	_, _, objects := fleetOf()
	r := rolloutTo("1.1.0")
	b := newBench(t, append(objects, r)...)
	b.fails = func(verb string, _ runtime.Object) error {
		if verb == "patch" {
			return apierrors.NewNotFound(schema.GroupResource{}, r.Name)
		}
		return nil
	}
	_, err := b.AdvanceRollout(t.Context(), In{Ref: kick.RefOf(r)})
	require.NoError(t, err)
	require.Empty(t, b.recorded())
}

func TestAnEndedRolloutStaysUnchanged(t *testing.T) {
	for _, phase := range []v1beta2.RolloutPhase{v1beta2.RolloutCompleted, v1beta2.RolloutReverted, v1beta2.RolloutAborted, v1beta2.RolloutSuperseded} {
		_, _, objects := fleetOf()
		r := rolloutTo("1.1.0", func(r *v1beta2.ModuleRollout) {
			r.Status.Phase, r.Status.Progress = phase, "1/2"
			r.Spec.Abort = true
		})
		b := newBench(t, append(objects, r)...)
		require.Equal(t, Out{Ended: true, Phase: string(phase), Progress: "1/2"}, b.step(r))
		require.Empty(t, b.writes)
	}
}

func TestTheFirstRolloutOfAPolicyCompletesImmediately(t *testing.T) {
	_, _, objects := fleetOf()
	r := rolloutTo("1.0.0", func(r *v1beta2.ModuleRollout) {
		r.Spec.Plan.Stages[0].Soak = &metav1.Duration{Duration: time.Hour}
	})
	b := newBench(t, append(objects, r)...)
	require.Equal(t, "Completed", b.step(r).Phase, "regardless of the channel's current version")
	require.EqualValues(t, 2, r.Status.Stage, "all clusters have the version")
}

func TestAStageByCountTakesTheClustersThatExistWhenTheRolloutBegins(t *testing.T) {
	objects := []client.Object{desiredtest.ReleaseMeta("keda", "regular=1.1.0")}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		kyma := cluster(name)
		objects = append(objects, kyma, installed(kyma, "1.0.0"))
	}
	r := rolloutTo("1.1.0", func(r *v1beta2.ModuleRollout) {
		r.Spec.Plan.Stages = []v1beta2.RolloutStage{{Name: "two", Count: new(int32(2))}}
	})
	b := newBench(t, append(objects, r)...)
	b.step(r)
	require.EqualValues(t, 2, r.Status.Stages[0].Total)
	bound := r.Status.Stages[0].Bound
	require.Positive(t, bound)
	require.NoError(t, b.Create(t.Context(), cluster("f")))
	b.step(r)
	require.Equal(t, bound, r.Status.Stages[0].Bound)
}

func TestAFailedReadDecidesNothing(t *testing.T) {
	busy := errors.New("busy")
	for name, refuses := range map[string]func(verb string, object runtime.Object) bool{
		"the rollout": func(verb string, o runtime.Object) bool {
			_, ok := o.(*v1beta2.ModuleRollout)
			return ok && verb == "get"
		},
		"its release meta":     func(_ string, o runtime.Object) bool { _, ok := o.(*v1beta2.ModuleReleaseMeta); return ok },
		"which are there":      func(_ string, o runtime.Object) bool { _, ok := o.(*v1beta2.ModuleReleaseMetaList); return ok },
		"the other rollouts":   func(_ string, o runtime.Object) bool { _, ok := o.(*v1beta2.ModuleRolloutList); return ok },
		"the templates":        func(_ string, o runtime.Object) bool { _, ok := o.(*v1beta2.ModuleTemplateList); return ok },
		"the template":         func(_ string, o runtime.Object) bool { _, ok := o.(*v1beta2.ModuleTemplate); return ok },
		"the Kymas":            func(_ string, o runtime.Object) bool { _, ok := o.(*v1beta2.KymaList); return ok },
		"their Manifests":      func(_ string, o runtime.Object) bool { _, ok := o.(*v1beta2.ManifestList); return ok },
		"whether it is stored": func(verb string, _ runtime.Object) bool { return verb == "patch" },
	} {
		_, _, objects := fleetOf()
		r := rolloutTo("1.1.0")
		b := newBench(t, append(objects, r, desiredtest.Template("keda", "1.1.0"))...)
		b.fails = func(verb string, object runtime.Object) error {
			if refuses(verb, object) {
				return busy
			}
			return nil
		}
		_, err := b.AdvanceRollout(t.Context(), In{Ref: kick.RefOf(r)})
		require.ErrorIs(t, err, busy, name)
		require.Empty(t, b.writes, name)
		require.Empty(t, b.recorded(), name)
	}
}

func TestTheActivityNeedsClients(t *testing.T) {
	_, err := New(Options{Settings: desired.Settings{}})
	require.Error(t, err)
	c := inMemory(t)
	a, err := New(Options{ControlPlane: c, Informers: c})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), a.Clock(), time.Minute)
}
