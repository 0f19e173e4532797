package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

var sampleGVK = schema.GroupVersionKind{Group: "sample.kyma-project.io", Version: "v1alpha1", Kind: "Sample"}

// The life of a Kyma in a remote cluster, from its creation to its deletion: one test, because each part
// stands on the one before.
func TestTheLifeOfAKymaWithARemoteCluster(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.push("test/modules/sample/1.1.0")
	s.instance.start()

	kyma := newKyma("life", "sample")
	s.create(kyma)
	s.becomesReady("life", "sample@1.0.0")
	created := s.kyma("life")

	t.Run("the module's resources and its default custom resource are in the remote cluster", func(t *testing.T) {
		var deployment appsv1.Deployment
		require.NoError(t, s.remote.Get(t.Context(), client.ObjectKey{Namespace: remoteNamespace, Name: "sample-operator"}, &deployment))
		require.Equal(t, "kyma", deployment.Labels[shared.LabelManagedBy])
		require.Positive(t, deployment.Status.AvailableReplicas)
		require.Equal(t, "Ready", sampleState(t, s.remote))
		require.NotEmpty(t, settings(t, s.remote), "1.0.0 has the ConfigMap with settings")
	})
	t.Run("the remote Kyma shows the same status", func(t *testing.T) {
		s.eventually("the status is copied", 2*time.Minute, func(c *assert.CollectT) {
			remote := s.remoteKyma()
			assert.Equal(c, shared.StateReady, remote.Status.State)
			if assert.Len(c, remote.Status.Modules, 1) {
				assert.Equal(c, "1.0.0", remote.Status.Modules[0].Version)
				assert.Nil(c, remote.Status.Modules[0].Manifest, "nobody there can look at a Manifest")
			}
		})
	})
	t.Run("in Temporal the Kyma's workflow sleeps and the Manifest's has completed", func(t *testing.T) {
		s.eventually("the Manifest's workflow completes", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, map[string]string{kick.KymaWorkflow: "Running", kick.ManifestWorkflow: "Completed"}, s.workflowsOf(created))
		})
		s.recordHistories("install", created)
		s.assertHistoryBudgets(t, created)
	})
	t.Run("nothing of the kubeconfig is in a history", func(t *testing.T) {
		config, err := clientcmd.LoadFromFile(s.remote.access)
		require.NoError(t, err)
		require.NotEmpty(t, config.AuthInfos)
		ids := []string{kick.KymaWorkflowID(kick.RefOf(created))}
		for _, m := range s.manifests(created) {
			ids = append(ids, kick.ManifestWorkflowID(kick.RefOf(&m)))
		}
		for _, id := range ids {
			history := decoded(s.history(id))
			require.Contains(t, history, "sample", "the payloads are readable here")
			for _, user := range config.AuthInfos {
				require.NotEmpty(t, user.Token)
				require.NotContains(t, history, user.Token)
			}
		}
	})
	t.Run("a module enabled and disabled inside the remote cluster follows", func(t *testing.T) {
		edit(t, s.remote, s.remoteKyma(), func(k *v1beta2.Kyma) {
			k.Spec.Modules = nil
		})
		s.eventually("the module is removed", 2*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.kyma("life").Status.Modules)
			assert.Empty(c, s.manifests(created))
		})
		require.Empty(t, s.ofModule(t, s.remote), "nothing of the module is left in the remote cluster")

		edit(t, s.remote, s.remoteKyma(), func(k *v1beta2.Kyma) {
			k.Spec.Modules = []v1beta2.Module{{Name: "sample"}}
		})
		s.becomesReady("life", "sample@1.0.0")
	})
	t.Run("a channel that is moved upgrades the module and prunes what it no longer has", func(t *testing.T) {
		edit(t, s.remote, s.remoteKyma(), func(k *v1beta2.Kyma) {
			k.Spec.Channel = "fast"
		})
		s.becomesReady("life", "sample@1.1.0")
		require.Equal(t, "fast", s.kyma("life").Status.ActiveChannel)
		require.Empty(t, settings(t, s.remote), "1.1.0 has no ConfigMap with settings any more")
		s.recordHistories("upgrade", created)
	})
	t.Run("after its deletion nothing is left and all its workflows are closed", func(t *testing.T) {
		require.NoError(t, s.controlPlane.Delete(t.Context(), s.kyma("life")))
		s.eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) {
			assert.True(c, s.isGone(kyma))
		})
		require.Empty(t, s.ofModule(t, s.remote))
		require.Empty(t, s.remoteKymas(t), "the remote Kyma is gone, and its definition with it")
		s.eventually("the workflows are closed", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, map[string]string{kick.KymaWorkflow: "Completed", kick.ManifestWorkflow: "Completed"}, s.workflowsOf(created))
		})
		s.recordHistories("deletion", created)
	})
	t.Run("one of the same name is installed anew", func(t *testing.T) {
		again := newKyma("life", "sample")
		require.NoError(t, s.controlPlane.Create(t.Context(), again))
		s.becomesReady("life", "sample@1.0.0")
		require.NotEqual(t, created.UID, s.kyma("life").UID)
	})
}

func TestTheLifeOfAKymaInASingleCluster(t *testing.T) {
	s := newStage(t, "--mode", "single-cluster")
	s.push("test/modules/sample/1.0.0")
	s.push("test/modules/sample/1.1.0")
	s.instance.start()

	kyma := newKyma("single", "sample")
	require.NoError(t, s.controlPlane.Create(t.Context(), kyma))
	s.becomesReady("single", "sample@1.0.0")
	require.Equal(t, "Ready", sampleState(t, s.controlPlane))

	edit(t, s.controlPlane, s.kyma("single"), func(k *v1beta2.Kyma) {
		k.Spec.Channel = "fast"
	})
	s.becomesReady("single", "sample@1.1.0")

	edit(t, s.controlPlane, s.kyma("single"), func(k *v1beta2.Kyma) {
		k.Spec.Modules = nil
	})
	s.eventually("the module is removed", 2*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.kyma("single").Status.Modules)
		assert.Empty(c, s.manifests(s.kyma("single")))
	})
	require.Empty(t, s.ofModule(t, s.controlPlane))

	require.NoError(t, s.controlPlane.Delete(t.Context(), s.kyma("single")))
	s.eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) {
		assert.True(c, s.isGone(kyma))
	})
	require.NoError(t, s.controlPlane.List(t.Context(), &v1beta2.KymaList{}), "the control plane keeps its definitions")
}

// sampleState is the state of the one Sample in a cluster.
func sampleState(t *testing.T, c cluster) string {
	t.Helper()
	samples := &unstructured.UnstructuredList{}
	samples.SetGroupVersionKind(sampleGVK)
	require.NoError(t, c.List(t.Context(), samples))
	require.Len(t, samples.Items, 1)
	state, _, err := unstructured.NestedString(samples.Items[0].Object, "status", "state")
	require.NoError(t, err)
	return state
}

// settings are the data of the ConfigMap that version 1.0.0 of the sample module has and 1.1.0 has not.
func settings(t *testing.T, c cluster) map[string]string {
	t.Helper()
	var settings corev1.ConfigMap
	err := c.Get(t.Context(), client.ObjectKey{Namespace: remoteNamespace, Name: "sample-operator-settings"}, &settings)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return settings.Data
}

func (s *stage) remoteKymas(t *testing.T) []v1beta2.Kyma {
	t.Helper()
	var kymas v1beta2.KymaList
	err := s.remote.List(t.Context(), &kymas)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return kymas.Items
}
