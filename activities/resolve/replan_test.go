package resolve

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// remember makes the instance read its Manifests from an informer that misses all later changes.
func (b *bench) remember(t *testing.T) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	builder := fleettest.Indexed(fake.NewClientBuilder().WithScheme(scheme))
	manifests := b.manifests(t)
	newest := ""
	for i := range manifests {
		builder.WithObjects(&manifests[i])
		if desired.Older(newest, manifests[i].ResourceVersion) {
			newest = manifests[i].ResourceVersion
		}
	}
	known := builder.Build()
	b.Known = fleet.Over(known, b.Cluster, func(context.Context, client.Object, string) string { return newest })
	b.Cluster.Forget()
}

func TestASteadyReconcileReadsNoManifestThatAnInformerKnows(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	b.remember(t)
	b.reconcile(t)
	require.Empty(t, b.Cluster.Writes())
	for _, read := range b.Cluster.Reads() {
		require.NotContains(t, read, "Manifest")
	}
}

func TestADecisionIsBasedOnTheLiveManifest(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	b.remember(t)
	name := b.manifests(t)[0].Name
	// Somebody writes to the Manifest, and the informer does not see it.
	m := b.manifests(t)[0]
	m.Annotations["example.com/note"] = "mine"
	require.NoError(t, b.Cluster.Update(t.Context(), &m))
	template := desiredtest.ChannelTemplate("keda", "regular", "1.1.0")
	require.NoError(t, b.Cluster.Delete(t.Context(), desiredtest.ChannelTemplate("keda", "regular", "1.0.0")))
	require.NoError(t, b.Cluster.Create(t.Context(), template))
	b.Cluster.Forget()
	require.Equal(t, []string{name}, b.reconcile(t).Updated)
	require.Contains(t, b.Cluster.Reads(), "get Manifest "+name)
	require.Equal(t, "1.1.0", b.manifests(t)[0].Spec.Version)
}

func TestAManifestThatWasDeletedUnnoticedIsNotActedOn(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	b.reconcile(t)
	b.remember(t)
	m := b.manifests(t)[0]
	require.NoError(t, b.Cluster.Delete(t.Context(), &m))
	b.edit(t, func(kyma *v1beta2.Kyma) { kyma.Spec.Modules = nil })
	b.Cluster.Forget()
	require.Equal(t, []string{}, append([]string{}, b.reconcile(t).Updated...))
	require.False(t, b.manifests(t)[0].DeletionTimestamp.IsZero(), "its finalizers still hold it")
	require.NotContains(t, b.Cluster.Writes(), "delete Manifest "+m.Name, "it is already being deleted")
}

func TestTheNamesOfManifestsAreRecordedBeforeTheirCreation(t *testing.T) {
	b := newBench(t, desiredtest.Kyma("keda"), desired.Settings{}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	name := shared.ManifestName("kyma-sample", "kyma-project.io/module/keda", "keda")
	b.Cluster.Fail = func(verb, object string) error {
		if verb == "apply" && object == "Manifest "+name {
			return context.DeadlineExceeded
		}
		return nil
	}
	_, err := b.ResolveKyma(context.Background(), b.in)
	require.Error(t, err)
	require.Equal(t, []string{name}, b.read(t).Status.Manifests, "even if creating the Manifest fails")
}
