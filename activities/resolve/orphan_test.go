package resolve

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestAKymaThatIsDeletedWithOrphanLeavesItsManifests(t *testing.T) {
	kyma := desiredtest.Kyma("keda")
	now := metav1.Now()
	kyma.DeletionTimestamp, kyma.Finalizers = &now, []string{shared.FinalizerKyma, metav1.FinalizerOrphanDependents}
	m := installed("keda", "1.0.0")
	m.Finalizers = desired.ManifestFinalizers()
	b := newBench(t, kyma, desired.Settings{}, m)
	result, err := b.deleteAll(context.Background(), b.in)
	require.NoError(t, err)
	require.Equal(t, []string{m.Name}, result.Left, "until the garbage collector has let go of it")
	require.Empty(t, b.cluster.Writes())
	require.False(t, result.PurgeDue)

	orphan := b.only(t)
	orphan.OwnerReferences = nil
	require.NoError(t, b.cluster.Update(context.Background(), orphan))
	result, err = b.deleteAll(context.Background(), b.in)
	require.NoError(t, err)
	require.Empty(t, result.Left)
	require.True(t, b.only(t).DeletionTimestamp.IsZero())
}

func TestTheNextKymaOfTheNameGetsTheModuleThatAnEarlierOneLeft(t *testing.T) {
	ctx := context.Background()
	orphan := installed("keda", "1.0.0")
	orphan.OwnerReferences, orphan.Finalizers = nil, desired.ManifestFinalizers()
	orphan.Status.InstalledRef, orphan.UID = "sha256:1", "orphan"
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), orphan)
	events := &recorder{}
	b.events = events
	result := b.look(t)
	require.Equal(t, []string{orphan.Name}, result.Created)
	now := b.only(t)
	require.True(t, metav1.IsControlledBy(now, b.read(t)))
	require.Empty(t, now.Status.InstalledRef, "it is a new one")
	require.Len(t, events.told, 1)
	require.Contains(t, events.told[0], "OrphanReleased")
	require.Contains(t, events.told[0], "what it installed stays where it is")

	// One that nobody ever worked on is somebody's own, and is left alone.
	stray := installed("btp", "1.0.0")
	stray.OwnerReferences = nil
	require.NoError(t, b.cluster.Create(ctx, stray))
	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "btp"}) })
	require.NoError(t, b.cluster.Create(ctx, desiredtest.ChannelTemplate("btp", "regular", "1.0.0")))
	require.Empty(t, b.look(t).Created)
}
