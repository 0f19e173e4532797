package resolve

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestAKymaDeletedWithCascadeOrphanLeavesItsManifests(t *testing.T) {
	kyma := desiredtest.Kyma("keda")
	now := metav1.Now()
	kyma.DeletionTimestamp, kyma.Finalizers = &now, []string{shared.FinalizerKyma, metav1.FinalizerOrphanDependents}
	m := installed("keda", "1.0.0")
	m.Finalizers = desired.ManifestFinalizers()
	b := newBench(t, kyma, desired.Settings{}, m)
	result, err := b.DeleteManifests(context.Background(), b.in)
	require.NoError(t, err)
	require.Equal(t, []string{m.Name}, result.Remaining, "until the garbage collector has released it")
	require.Empty(t, b.Cluster.Writes())
	require.False(t, result.PurgeDue)

	orphan := b.only(t)
	orphan.OwnerReferences = nil
	require.NoError(t, b.Cluster.Update(context.Background(), orphan))
	result, err = b.DeleteManifests(context.Background(), b.in)
	require.NoError(t, err)
	require.Empty(t, result.Remaining)
	require.True(t, b.only(t).DeletionTimestamp.IsZero())
}

func TestTheNextKymaOfTheSameNameGetsTheModuleOfAnOrphan(t *testing.T) {
	ctx := context.Background()
	orphan := installed("keda", "1.0.0")
	orphan.OwnerReferences, orphan.Finalizers = nil, desired.ManifestFinalizers()
	orphan.Status.InstalledRef, orphan.UID = "sha256:1", "orphan"
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), orphan)
	events := &recorder{}
	b.Events = events
	result := b.reconcile(t)
	require.Equal(t, []string{orphan.Name}, result.Created)
	now := b.only(t)
	require.True(t, metav1.IsControlledBy(now, b.read(t)))
	require.Empty(t, now.Status.InstalledRef, "the Manifest is new")
	require.Len(t, events.told, 1)
	require.Contains(t, events.told[0], "OrphanReleased")
	require.Contains(t, events.told[0], "its objects stay")

	// A Manifest that no Kyma ever worked on was created by a user. It stays unchanged.
	stray := installed("btp", "1.0.0")
	stray.OwnerReferences = nil
	require.NoError(t, b.Cluster.Create(ctx, stray))
	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "btp"}) })
	require.NoError(t, b.Cluster.Create(ctx, desiredtest.ChannelTemplate("btp", "regular", "1.0.0")))
	require.Empty(t, b.reconcile(t).Created)
}

func TestTheNextKymaAdoptsAnOrphanForTheSameCluster(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		change func(kyma *v1beta2.Kyma, orphan *v1beta2.Manifest)
		adopts bool
	}{
		"the same cluster":            {func(*v1beta2.Kyma, *v1beta2.Manifest) {}, true},
		"another cluster":             {func(k *v1beta2.Kyma, _ *v1beta2.Manifest) { k.Status.Remote.Cluster = "another" }, false},
		"a cluster that is not known": {func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { m.Status.Cluster = "" }, false},
		"another instance's Manifest": {func(_ *v1beta2.Kyma, m *v1beta2.Manifest) { m.Labels[shared.LabelManagedBy] = "another" }, false},
		"a module in the control plane": {func(_ *v1beta2.Kyma, m *v1beta2.Manifest) {
			m.Status.Target = &v1beta2.TargetRecord{Cluster: v1beta2.TargetClusterControlPlane}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			kyma, orphan := desiredtest.Kyma("keda"), installed("keda", "1.0.0")
			on := true
			kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on}
			kyma.Status.Remote = &v1beta2.RemoteStatus{Cluster: "remote", UID: "copy", Channel: "regular", Modules: kyma.Spec.Modules}
			orphan.OwnerReferences, orphan.Finalizers = nil, desired.ManifestFinalizers()
			orphan.UID = "orphan"
			orphan.Status.InstalledVersion, orphan.Status.InstalledRef, orphan.Status.Cluster = "1.0.0", "sha256:1", "remote"
			c.change(kyma, orphan)
			b := newBench(t, kyma, desired.Settings{Mode: desired.ModeControlPlane}, desiredtest.ChannelTemplate("keda", "regular", "1.1.0"), orphan)
			events := &recorder{}
			b.Events = events
			result := b.reconcile(t)
			now := b.only(t)
			require.True(t, metav1.IsControlledBy(now, b.read(t)))
			require.Equal(t, "1.1.0", now.Spec.Version)
			require.Equal(t, desired.ManifestFinalizers(), now.Finalizers)
			require.Len(t, events.told, 1)
			if !c.adopts {
				require.Equal(t, []string{orphan.Name}, result.Created)
				require.Empty(t, now.Status.InstalledVersion)
				require.Contains(t, events.told[0], "OrphanReleased")
				return
			}
			require.Equal(t, []string{orphan.Name}, result.Updated, "like a Manifest that the Kyma created")
			require.Equal(t, "1.0.0", now.Status.InstalledVersion)
			require.Contains(t, events.told[0], "OrphanAdopted")
			b.Cluster.Forget()
			b.reconcile(t)
			require.Empty(t, b.Cluster.Writes())
		})
	}

	// The Kyma does not list the module. The Manifest stays unchanged.
	orphan := installed("keda", "1.0.0")
	orphan.OwnerReferences, orphan.Status.InstalledRef = nil, "sha256:1"
	b := newBench(t, desiredtest.Kyma(), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), orphan)
	b.reconcile(t)
	require.Empty(t, b.only(t).OwnerReferences)
	require.True(t, b.only(t).DeletionTimestamp.IsZero())
	require.NoError(t, b.Cluster.Delete(ctx, orphan))
}
