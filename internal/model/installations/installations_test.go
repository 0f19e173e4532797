package installations_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
)

func manifest(name string) *v1beta2.Manifest {
	return &v1beta2.Manifest{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindManifest},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kcp-system", Name: name, Finalizers: []string{shared.FinalizerManifest}, Labels: map[string]string{shared.LabelKymaName: "one"},
		},
	}
}

// Each operation of the engine on the Manifest of an agent, from creation to deletion, acts on a RemoteAgent.
func TestTheManifestOfAnAgentIsARemoteAgent(t *testing.T) {
	cluster := desiredtest.NewCluster("1", manifest("one-keda-1"))
	c, name := installations.Client(cluster), shared.RemoteAgentName("one")
	key := client.ObjectKey{Namespace: "kcp-system", Name: name}
	there := func() *v1beta2.RemoteAgent {
		t.Helper()
		agent := &v1beta2.RemoteAgent{}
		require.NoError(t, cluster.Get(t.Context(), key, agent))
		require.True(t, apierrors.IsNotFound(cluster.Get(t.Context(), key, &v1beta2.Manifest{})))
		return agent
	}

	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(manifest(name))
	require.NoError(t, err)
	object := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(object.Object, "status")
	require.NoError(t, c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test")))
	require.Equal(t, shared.KindManifest, object.GetKind(), "the engine sees a Manifest")
	require.Equal(t, []string{shared.FinalizerManifest}, there().Finalizers)

	m := &v1beta2.Manifest{}
	require.NoError(t, c.Get(t.Context(), key, m))
	require.NotEqual(t, shared.KindRemoteAgent, m.Kind)
	require.IsType(t, &v1beta2.RemoteAgent{}, installations.Resource(m), "Events are about the stored object")
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(shared.KindManifest))
	require.NoError(t, c.Get(t.Context(), key, metadata))
	require.Equal(t, there().UID, metadata.UID)
	require.Equal(t, shared.KindManifest, metadata.Kind)

	m.Status.State = shared.StateReady
	require.NoError(t, c.Status().Update(t.Context(), m))
	require.Equal(t, there().ResourceVersion, m.ResourceVersion)
	require.NoError(t, c.Status().Patch(t.Context(), &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}},
		client.RawPatch("application/merge-patch+json", []byte(`{"status":{"installedVersion":"1"}}`))))
	require.Equal(t, shared.StateReady, there().Status.State)
	require.Equal(t, "1", there().Status.InstalledVersion)

	var all v1beta2.ManifestList
	require.NoError(t, c.List(t.Context(), &all, client.InNamespace("kcp-system"), client.MatchingLabels{shared.LabelKymaName: "one"}))
	require.Len(t, all.Items, 2)
	require.Equal(t, name, all.Items[1].Name)
	require.NoError(t, c.List(t.Context(), &all, client.InNamespace("elsewhere")))
	require.Empty(t, all.Items)

	require.NoError(t, c.Get(t.Context(), key, m))
	require.NoError(t, c.Delete(t.Context(), m, client.Preconditions{UID: &m.UID}))
	require.False(t, there().DeletionTimestamp.IsZero())
	require.NoError(t, c.Get(t.Context(), key, m))
	before := m.DeepCopy()
	m.Finalizers = nil
	require.NoError(t, c.Patch(t.Context(), m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), key, m)))
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "kcp-system", Name: "one-keda-1"}, m), "the Manifest of a module stays a Manifest")
}

// Former Manifests are known by their name or, if the Kyma's name was too long for it, by the annotation too. They are
// released even if their Kyma is gone.
func TestManifestsThatEarlierBuildsMadeForAgentsAreReleased(t *testing.T) {
	module, others := manifest("one-keda-1"), manifest(shared.RemoteAgentName("other"))
	long := manifest(shared.ManifestName(strings.Repeat("k", 60), shared.AgentComponent, shared.AgentName))
	long.Labels[shared.LabelKymaName] = strings.Repeat("k", 60)
	long.Annotations = map[string]string{desired.AnnotationAgent: "{}"}
	module.Annotations = long.Annotations // anyone who may annotate Manifests could have put it there
	formers := []*v1beta2.Manifest{manifest(shared.RemoteAgentName("one")), long}
	cluster := desiredtest.NewCluster("1", module, others, formers[0], formers[1])
	c := installations.Client(cluster)

	var all v1beta2.ManifestList
	require.NoError(t, c.List(t.Context(), &all))
	require.Len(t, all.Items, 1, "the engine does not see former Manifests")
	for range 2 {
		require.NoError(t, installations.ReleaseFormers(t.Context(), installations.Reader(cluster), c, func(m *v1beta2.Manifest) bool { return m.Name != others.Name }))
		for _, former := range formers {
			require.True(t, apierrors.IsNotFound(cluster.Get(t.Context(), client.ObjectKeyFromObject(former), former)))
		}
	}
	for _, stays := range []*v1beta2.Manifest{module, others} {
		require.NoError(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(stays), stays))
	}
}
