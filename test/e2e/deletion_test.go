package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// isDeletedInFull deletes a Kyma with one module, and requires that the module, the remote Kyma and the Manifest are gone as soon
// as the Kyma is.
func isDeletedInFull(t *testing.T, s *harness.Environment, kyma *v1beta2.Kyma, propagation metav1.DeletionPropagation) {
	t.Helper()
	manifests := s.Manifests(kyma)
	require.Len(t, manifests, 1)
	require.True(t, *manifests[0].OwnerReferences[0].BlockOwnerDeletion)
	require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma, client.PropagationPolicy(propagation)))
	s.Eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
	require.Empty(t, s.OfModule(t, s.Remote))
	require.Empty(t, s.RemoteKymas(t), "the remote Kyma is gone, and its definition with it")
	err := s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(&manifests[0]), &v1beta2.Manifest{})
	require.True(t, apierrors.IsNotFound(err), err)
}

// A Kyma of the name of one that is still going away is taken care of in order: not before the old one is gone.
func TestAKymaOfTheSameNameWaitsForTheOldOneToBeGone(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
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
}
