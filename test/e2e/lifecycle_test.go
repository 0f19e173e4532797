package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
)

// The life of a Kyma in a remote cluster, from its creation to its deletion: one test, because each part
// depends on the one before.
func TestTheLifeOfAKymaWithARemoteCluster(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.Push("test/modules/sample/1.0.0")
	s.Push("test/modules/sample/1.1.0")
	s.Instance.Start()

	s.Create(harness.NewKyma("life", "sample"))
	s.BecomesReady("life", "sample@1.0.0")
	created := s.Kyma("life")

	t.Run("whoever starts it sees no error that is none", func(t *testing.T) {
		require.Empty(t, s.Instance.Errors(), "in its log")
		require.Empty(t, s.FailedWorkflowTasks(), "in Temporal's UI")
	})
	t.Run("the module's resources and its default custom resource are in the remote cluster", func(t *testing.T) {
		var deployment appsv1.Deployment
		require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: "sample-operator"}, &deployment))
		require.Equal(t, "kyma", deployment.Labels[shared.LabelManagedBy])
		require.Positive(t, deployment.Status.AvailableReplicas)
		require.Equal(t, "Ready", harness.SampleState(t, s.Remote))
		require.NotEmpty(t, settings(t, s.Remote), "1.0.0 has the ConfigMap with settings")
	})
	t.Run("the remote Kyma shows the same status", func(t *testing.T) {
		s.Eventually("the status is copied", 2*time.Minute, func(c *assert.CollectT) {
			remote := s.RemoteKyma()
			assert.Equal(c, shared.StateReady, remote.Status.State)
			if assert.Len(c, remote.Status.Modules, 1) {
				assert.Equal(c, "1.0.0", remote.Status.Modules[0].Version)
				assert.Nil(c, remote.Status.Modules[0].Manifest, "no user there can read a Manifest")
			}
		})
	})
	t.Run("in Temporal the Kyma's workflow sleeps", func(t *testing.T) {
		s.BecomesIdle(created)
		s.AssertRuns("install", s.WorkflowIDs(created))
		assertHistoryBudgets(t, s, created)
		require.Contains(t, harness.Decoded(s.History(kick.KymaWorkflowID(kick.RefOf(created)))), `"0.0.0-dev"`, "the version that did its tasks")
	})
	t.Run("nothing of the kubeconfig is in a history", func(t *testing.T) {
		config, err := clientcmd.LoadFromFile(s.Remote.Access)
		require.NoError(t, err)
		require.NotEmpty(t, config.AuthInfos)
		history := harness.Decoded(s.History(kick.KymaWorkflowID(kick.RefOf(created))))
		require.Contains(t, history, "sample", "the payloads are readable here")
		for _, user := range config.AuthInfos {
			require.NotEmpty(t, user.Token)
			require.NotContains(t, history, user.Token)
		}
	})
	t.Run("a module enabled and disabled inside the remote cluster follows", func(t *testing.T) {
		s.EditRemote(func(k *v1beta2.Kyma) {
			k.Spec.Modules = nil
		})
		s.Eventually("the module is removed", 2*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.Kyma("life").Status.Modules)
			assert.Empty(c, s.Manifests(created))
		})
		require.Empty(t, s.OfModule(t, s.Remote), "nothing of the module remains in the remote cluster")

		s.EditRemote(func(k *v1beta2.Kyma) {
			k.Spec.Modules = []v1beta2.Module{{Name: "sample"}}
		})
		s.BecomesReady("life", "sample@1.0.0")
	})
	t.Run("a channel that is moved upgrades the module and prunes what it no longer has", func(t *testing.T) {
		s.EditRemote(func(k *v1beta2.Kyma) {
			k.Spec.Channel = "fast"
		})
		s.BecomesReady("life", "sample@1.1.0")
		require.Equal(t, "fast", s.Kyma("life").Status.ActiveChannel)
		require.Empty(t, settings(t, s.Remote), "1.1.0 has no ConfigMap with settings any more")
		s.AssertRuns("upgrade", s.WorkflowIDs(created))
	})
	t.Run("after its deletion nothing remains and all its workflows are closed", func(t *testing.T) {
		ids := s.WorkflowIDs(created)
		isDeletedInFull(t, s, s.Kyma("life"), metav1.DeletePropagationBackground)
		s.Eventually("the workflow is closed", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, "Completed", s.WorkflowOf(created))
		})
		s.AssertRuns("deletion", ids)
	})
	t.Run("one of the same name is installed again", func(t *testing.T) {
		again := harness.NewKyma("life", "sample")
		require.NoError(t, s.ControlPlane.Create(t.Context(), again))
		s.BecomesReady("life", "sample@1.0.0")
		require.NotEqual(t, created.UID, s.Kyma("life").UID)
	})
	// The Kyma that has the name now is told, some seconds later, that the old one's Manifest is gone, which is urgent.
	time.Sleep(3 * time.Second)
	s.BecomesIdle(s.Kyma("life"))
	t.Run("a version that is put into its channel reaches it in the background", func(t *testing.T) {
		meta := &v1beta2.ModuleReleaseMeta{ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: harness.ControlPlaneNamespace}}
		harness.EditObject(t, s.ControlPlane, meta, func() {
			for i := range meta.Spec.Channels {
				meta.Spec.Channels[i].Version = "1.1.0"
			}
		})
		s.BecomesReady("life", "sample@1.1.0")
		again := s.Kyma("life")
		s.AssertRuns("rollout", s.WorkflowIDs(again))
		require.Contains(t, harness.Decoded(s.History(kick.KymaWorkflowID(kick.RefOf(again)))), "ReconcileInBackground")
	})
	t.Run("deleted in the foreground, while its label skips reconciliation, nothing remains either", func(t *testing.T) {
		harness.Edit(t, s.ControlPlane, s.Kyma("life"), func(k *v1beta2.Kyma) {
			metav1.SetMetaDataLabel(&k.ObjectMeta, shared.LabelSkipReconciliation, "true")
		})
		isDeletedInFull(t, s, s.Kyma("life"), metav1.DeletePropagationForeground)
	})
}

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

// settings are the data of the ConfigMap that version 1.0.0 of the sample module has and 1.1.0 has not.
func settings(t *testing.T, c cluster.Cluster) map[string]string {
	t.Helper()
	var settings corev1.ConfigMap
	err := c.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: "sample-operator-settings"}, &settings)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return settings.Data
}
