package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// A Kyma that is deleted with `--cascade=orphan` leaves Manifests, whose owner the garbage collector removes.
func TestTheManifestsOfAnOrphaningKymaAreAdoptedByTheNextOne(t *testing.T) {
	s := harness.NewEnvironment(t)
	garbageCollectorKnowsManifests(s)
	s.Push("test/modules/sample/1.0.0")
	s.Push("test/modules/sample/1.1.0")
	s.Instance.Start()
	s.Create(harness.NewKyma("orphaned", "sample"))
	s.BecomesReady("orphaned", "sample@1.0.0")
	old := s.Kyma("orphaned")
	manifest := s.Manifests(old)[0]
	operator := &appsv1.Deployment{}
	read := func() {
		require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: "sample-operator"}, operator))
	}
	read()
	installed := operator.UID

	require.NoError(t, s.ControlPlane.Delete(t.Context(), old, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	s.Eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(old)) })
	orphan := &v1beta2.Manifest{}
	require.NoError(t, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(&manifest), orphan))
	require.True(t, orphan.DeletionTimestamp.IsZero())
	require.Empty(t, orphan.OwnerReferences)
	require.Equal(t, "Ready", harness.SampleState(t, s.Remote), "the module works on")
	require.NotEmpty(t, settings(t, s.Remote))

	// Its user removes the default custom resource meanwhile, for good.
	sample := &unstructured.Unstructured{}
	sample.SetGroupVersionKind(harness.SampleGVK)
	require.NoError(t, s.Remote.DeleteAllOf(t.Context(), sample, client.InNamespace(harness.RemoteNamespace)))

	again := harness.NewKyma("orphaned", "sample")
	again.Spec.Channel = "fast"
	require.NoError(t, s.ControlPlane.Create(t.Context(), again))
	s.Eventually("the new Kyma upgrades what is there", 2*time.Minute, func(c *assert.CollectT) {
		now := s.Kyma("orphaned")
		assert.NotEqual(c, old.UID, now.UID)
		manifests := s.Manifests(now)
		if assert.Len(c, manifests, 1) {
			assert.Equal(c, manifest.UID, manifests[0].UID)
			assert.Equal(c, "1.1.0", manifests[0].Status.InstalledVersion)
			assert.True(c, manifests[0].Status.Settled)
		}
		assert.Empty(c, settings(t, s.Remote), "what the new version no longer has is pruned")
	})
	read()
	require.Equal(t, installed, operator.UID)
	samples := &unstructured.UnstructuredList{}
	samples.SetGroupVersionKind(harness.SampleGVK)
	require.NoError(t, s.Remote.List(t.Context(), samples))
	require.Empty(t, samples.Items, "what its user removed stays removed")

	require.NoError(t, s.ControlPlane.Delete(t.Context(), s.Kyma("orphaned")))
	s.Eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(again)) })
	require.Empty(t, s.OfModule(t, s.Remote))
	require.Equal(t, shared.FinalizerManifest, orphan.Finalizers[0], "it had kept its finalizers")
}

// garbageCollectorKnowsManifests waits until the garbage collector deletes Manifests without an owner. It discovers
// new kinds every 30 s; before it knows Manifests, an orphaning Kyma is deleted with the owner reference still on them.
func garbageCollectorKnowsManifests(s *harness.Environment) {
	s.T.Helper()
	probe := &v1beta2.Manifest{}
	probe.Namespace, probe.Name = harness.ControlPlaneNamespace, "ownerless"
	probe.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "none", UID: uuid.NewUUID()}}
	probe.Spec.Install.Name = "none"
	probe.Spec.Install.Source = v1beta2.ImageSpec{Repo: "none", Name: "none", Ref: "none", Type: v1beta2.ImageSourceOCIRef}
	require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), probe))
	s.Eventually("the garbage collector knows Manifests", time.Minute, func(c *assert.CollectT) {
		assert.True(c, apierrors.IsNotFound(s.ControlPlane.Get(s.T.Context(), client.ObjectKeyFromObject(probe), &v1beta2.Manifest{})))
	})
}
