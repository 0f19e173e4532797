package e2e

import (
	"context"
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

	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
)

// A Kyma may have the name of an earlier one, however that one went. It takes over what the earlier one left in its cluster.
func TestAKymaTakesOverWhatAnEarlierOneOfItsNameLeft(t *testing.T) {
	s := harness.NewEnvironment(t)
	garbageCollectorKnowsManifests(s)
	s.Push("test/modules/sample/1.0.0")
	s.Push("test/modules/sample/1.1.0")
	s.PushMinimal("later")
	s.Instance.Start()

	t.Run("it waits until the modules of the earlier one are removed", func(t *testing.T) { waitsForTheOldOne(t, s) })
	t.Run("it adopts the Manifests that an orphaning deletion left", func(t *testing.T) { adoptsOrphanedManifests(t, s) })
	t.Run("without any backup, it takes over what its cluster has", func(t *testing.T) { takesOverItsCluster(t, s) })
}

// A Kyma whose name belongs to one that is still being deleted waits until the modules of the old one are removed.
func waitsForTheOldOne(t *testing.T, s *harness.Environment) {
	s.Create(harness.NewKyma("again", "sample"))
	s.BecomesReady("again", "sample@1.0.0")
	sample := s.AddSampleFinalizer(t, "example.com/later")
	old := s.Kyma("again")
	oldManifest := s.Manifests(old)[0]
	require.NoError(t, s.ControlPlane.Delete(t.Context(), old))
	s.Eventually("the status names what is waited for, here and there", 2*time.Minute, func(c *assert.CollectT) {
		const waits = "waiting for modules to be deleted: sample (waiting for module crs deletion)"
		now := s.Kyma("again")
		assert.Equal(c, shared.StateDeleting, now.Status.State)
		assert.Contains(c, now.Status.LastOperation.Operation, waits)
		remote := s.RemoteKyma()
		assert.Equal(c, shared.StateDeleting, remote.Status.State)
	})
	require.True(t, apierrors.IsAlreadyExists(s.ControlPlane.Create(t.Context(), harness.NewKyma("again", "sample"))), "as long as it is there")

	// A user removes the finalizers without waiting.
	harness.Edit(t, s.ControlPlane, old, func(k *v1beta2.Kyma) { k.Finalizers = nil })
	s.Eventually("the old Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(old)) })
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("again", "sample")))
	s.Eventually("the new one waits", 2*time.Minute, func(c *assert.CollectT) {
		now := s.Kyma("again")
		assert.NotEqual(c, old.UID, now.UID)
		if modules := now.Status.Modules; assert.Len(c, modules, 1) {
			assert.NotEqual(c, shared.StateReady, modules[0].State)
			assert.NotEmpty(c, modules[0].Message)
		}
	})
	var still v1beta2.Manifest
	require.NoError(t, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(&oldManifest), &still))
	require.Equal(t, oldManifest.UID, still.UID)

	released := client.RawPatch("application/json-patch+json", []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`))
	require.NoError(t, s.Remote.Patch(context.Background(), sample, released))
	s.BecomesReady("again", "sample@1.0.0")
	manifests := s.Manifests(s.Kyma("again"))
	require.Len(t, manifests, 1)
	require.NotEqual(t, oldManifest.UID, manifests[0].UID)
	require.Equal(t, "Ready", harness.SampleState(t, s.Remote))
	s.RemoveKyma("again")
}

// A Kyma that is deleted with `--cascade=orphan` leaves Manifests, whose owner the garbage collector removes.
func adoptsOrphanedManifests(t *testing.T, s *harness.Environment) {
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

// Without any backup of the control plane, a Kyma is created again with another uid.
func takesOverItsCluster(t *testing.T, s *harness.Environment) {
	s.Create(harness.NewKyma("restored", "sample"))
	s.BecomesReady("restored", "sample@1.0.0")
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "later"}) })
	s.BecomesReady("restored", "sample@1.0.0", "later@1.0.0")
	s.Instance.Stop()
	kyma := s.Kyma("restored")
	uids := func() map[string]string {
		found := map[string]string{}
		for _, object := range s.Remote.All(t) {
			if cluster.IsInstalled(&object) || object.GroupVersionKind().Group == harness.SampleGVK.Group {
				found[object.Kind+" "+object.Name] = string(object.GetUID())
			}
		}
		return found
	}
	before := uids()
	for _, manifest := range s.Manifests(kyma) {
		s.ControlPlane.ForceDelete(&manifest)
	}
	s.ControlPlane.ForceDelete(kyma)
	require.True(t, s.IsGone(kyma))

	s.Namespace, s.Temporal = s.NewTemporalNamespace()
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("restored", "sample")))
	s.Instance.Start()
	s.BecomesReady("restored", "sample@1.0.0", "later@1.0.0")
	s.SweepShard(t, sweep.ShardOf(s.Kyma("restored").UID, sweep.DefaultShards)) // a pass of the sweep replaces nothing either
	require.Equal(t, before, uids())
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
