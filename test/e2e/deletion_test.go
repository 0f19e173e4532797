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
)

// However a Kyma is deleted, its modules are removed in order, and nothing of it is left.
func TestHoweverAKymaIsDeletedNothingOfItIsLeft(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	s.give("leaving")
	for name, c := range map[string]struct {
		propagation metav1.DeletionPropagation
		skip        bool
	}{
		"with background propagation":                     {propagation: metav1.DeletePropagationBackground},
		"with foreground propagation":                     {propagation: metav1.DeletePropagationForeground},
		"while its label says to leave it alone":          {propagation: metav1.DeletePropagationBackground, skip: true},
		"in the foreground, while it is to be left alone": {propagation: metav1.DeletePropagationForeground, skip: true},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, s.controlPlane.Create(t.Context(), newKyma("leaving", "sample")))
			s.becomesReady("leaving", "sample@1.0.0")
			if c.skip {
				edit(t, s.controlPlane, s.kyma("leaving"), func(k *v1beta2.Kyma) {
					metav1.SetMetaDataLabel(&k.ObjectMeta, shared.LabelSkipReconciliation, "true")
				})
			}
			kyma := s.kyma("leaving")
			manifests := s.manifests(kyma)
			require.Len(t, manifests, 1)
			require.True(t, *manifests[0].OwnerReferences[0].BlockOwnerDeletion)
			require.NoError(t, s.controlPlane.Delete(t.Context(), kyma, client.PropagationPolicy(c.propagation)))
			s.eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(kyma)) })
			require.Empty(t, s.ofModule(t, s.remote))
			require.Empty(t, s.remoteKymas(t))
			err := s.controlPlane.Get(t.Context(), client.ObjectKeyFromObject(&manifests[0]), &v1beta2.Manifest{})
			require.True(t, apierrors.IsNotFound(err), err)
		})
	}
}

// A Kyma of the name of one that is still going away is taken care of in order: not before the old one is gone.
func TestAKymaOfTheSameNameWaitsForTheOldOneToBeGone(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	s.create(newKyma("again", "sample"))
	s.becomesReady("again", "sample@1.0.0")
	held := s.holdSample(t, "example.com/later")
	old := s.kyma("again")
	oldManifest := s.manifests(old)[0]
	require.NoError(t, s.controlPlane.Delete(t.Context(), old))
	s.eventually("the status names what is waited for, here and there", 2*time.Minute, func(c *assert.CollectT) {
		const waits = "waiting for modules to be deleted: sample (waiting for module crs deletion)"
		now := s.kyma("again")
		assert.Equal(c, shared.StateDeleting, now.Status.State)
		assert.Contains(c, now.Status.LastOperation.Operation, waits)
		remote := s.remoteKyma()
		assert.Equal(c, shared.StateDeleting, remote.Status.State)
	})
	require.True(t, apierrors.IsAlreadyExists(s.controlPlane.Create(t.Context(), newKyma("again", "sample"))), "as long as it is there")

	// Somebody is impatient and takes the finalizers off by hand.
	edit(t, s.controlPlane, old, func(k *v1beta2.Kyma) { k.Finalizers = nil })
	s.eventually("the old Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(old)) })
	require.NoError(t, s.controlPlane.Create(t.Context(), newKyma("again", "sample")))
	s.eventually("the new one waits", 2*time.Minute, func(c *assert.CollectT) {
		now := s.kyma("again")
		assert.NotEqual(c, old.UID, now.UID)
		if modules := now.Status.Modules; assert.Len(c, modules, 1) {
			assert.NotEqual(c, shared.StateReady, modules[0].State)
			assert.NotEmpty(c, modules[0].Message)
		}
	})
	var still v1beta2.Manifest
	require.NoError(t, s.controlPlane.Get(t.Context(), client.ObjectKeyFromObject(&oldManifest), &still))
	require.Equal(t, oldManifest.UID, still.UID)

	released := client.RawPatch("application/json-patch+json", []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`))
	require.NoError(t, s.remote.Patch(context.Background(), held, released))
	s.becomesReady("again", "sample@1.0.0")
	manifests := s.manifests(s.kyma("again"))
	require.Len(t, manifests, 1)
	require.NotEqual(t, oldManifest.UID, manifests[0].UID)
	require.Equal(t, "Ready", sampleState(t, s.remote))
}
