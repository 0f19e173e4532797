package resolve

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// newStagedBench returns an instance with one Kyma that has keda 1.0.0, and a rollout of 1.1.0 that is not released to
// any Kyma.
func newStagedBench(t *testing.T) (*bench, *v1beta2.ModuleRollout) {
	t.Helper()
	r := &v1beta2.ModuleRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: desiredtest.Namespace, Name: "keda-regular-1.1.0", UID: "r-uid"},
		Spec:       v1beta2.ModuleRolloutSpec{ModuleName: "keda", Channel: "regular", From: "1.0.0", To: "1.1.0", Policy: "all", Sequence: 1},
	}
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, r,
		desiredtest.ReleaseMeta("keda", "regular=1.1.0"), desiredtest.Template("keda", "1.0.0"), desiredtest.Template("keda", "1.1.0"))
	b.reconcile(t)
	require.Equal(t, "1.0.0", b.only(t).Spec.Version)
	return b, r
}

// reach moves the rollout to a stage.
func (b *bench) reach(t *testing.T, r *v1beta2.ModuleRollout, stage int32, reverts bool) {
	t.Helper()
	r.Status.Stage, r.Status.Reverts = stage, reverts
	require.NoError(t, b.Cluster.Status().Update(context.Background(), r))
}

// become sets the state of the only Manifest.
func (b *bench) become(t *testing.T, state shared.State) {
	t.Helper()
	m := b.only(t)
	m.Status.State = state
	require.NoError(t, b.Cluster.Status().Update(context.Background(), m))
}

func TestAReconcileRecordsTheStateOfAModuleBeforeItsUpgrade(t *testing.T) {
	b, r := newStagedBench(t)
	require.NotContains(t, b.only(t).Annotations, rollout.AnnotationUpgrade, "the module has had only one version")
	b.become(t, shared.StateReady)
	b.reach(t, r, 1, false)
	before := time.Now().Add(-time.Second)
	require.Len(t, b.reconcile(t).Updated, 1)
	m := b.only(t)
	require.Equal(t, "1.1.0", m.Spec.Version)
	noted := rollout.UpgradeOf(m)
	require.Equal(t, "1.0.0", noted.From)
	require.True(t, noted.WasWell)
	require.False(t, noted.At.Before(before.Truncate(time.Second)))

	b.Cluster.Forget()
	b.reconcile(t)
	require.Empty(t, b.Cluster.Writes(), "the note is not a difference")

	b.become(t, shared.StateError)
	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules[0].CustomResourcePolicy = v1beta2.CustomResourcePolicyIgnore })
	require.Len(t, b.reconcile(t).Updated, 1)
	require.Equal(t, noted, rollout.UpgradeOf(b.only(t)), "another change of the spec is not an upgrade")

	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules[0].Managed = new(false) })
	require.Len(t, b.reconcile(t).Updated, 1)
	require.Equal(t, noted, rollout.UpgradeOf(b.only(t)), "nor is a reconcile that skips the module")
}

func TestAReconcileRevertsTheVersionThatARolloutReverts(t *testing.T) {
	b, r := newStagedBench(t)
	b.reach(t, r, 1, false)
	b.reconcile(t)
	b.become(t, shared.StateError)
	b.reach(t, r, 0, true)
	require.Len(t, b.reconcile(t).Updated, 1)
	m := b.only(t)
	require.Equal(t, "1.0.0", m.Spec.Version)
	require.Equal(t, "1.1.0", rollout.UpgradeOf(m).From)
	require.False(t, rollout.UpgradeOf(m).WasWell)
}

func TestAReleaseThatTheCacheHasNotSeenIsFollowed(t *testing.T) {
	b, r := newStagedBench(t)
	stale := desiredtest.NewCluster("cp", r.DeepCopy(), desiredtest.ReleaseMeta("keda", "regular=1.1.0"), desiredtest.Template("keda", "1.0.0"), desiredtest.Template("keda", "1.1.0"))
	b.reach(t, r, 1, false)
	activities, err := New(Options{Settings: desired.Settings{Mode: desired.ModeSingleCluster}, ControlPlane: b.Cluster, Catalog: stale, Descriptors: registry{}})
	require.NoError(t, err)
	b.Activities = activities
	require.Empty(t, b.reconcile(t).Updated, "the cache shows the earlier state")
	b.in.Seen = []desired.Seen{{Kind: "ModuleRollout", Namespace: r.Namespace, Name: r.Name, ResourceVersion: r.ResourceVersion}}
	require.Len(t, b.reconcile(t).Updated, 1)
	require.Equal(t, "1.1.0", b.only(t).Spec.Version)
}
