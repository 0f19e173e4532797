package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// customNamespace is the remote namespace of a Kyma that names one itself.
const customNamespace = "custom-sync"

// A Kyma that sets spec.sync has a remote Kyma of its own name in the namespace that it names, gets the modules of
// both, and what names no namespace goes into that one.
func TestAKymaThatSetsItsSynchronizationIsServedAsTheSeedsDescribe(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften() // edits in the remote cluster are found by passes
	s.Push("test/modules/sample/1.0.0")
	s.PushMinimal("extra")
	s.PushMinimal("other")
	// The sample module's manifest names this one, and does not bring it.
	s.EnsureNamespace(s.Remote, harness.RemoteNamespace)
	s.Instance.Start()

	on := true
	kyma := harness.NewKyma("seed", "sample", "extra")
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: customNamespace}
	s.Create(kyma)
	s.BecomesReady("seed", "sample@1.0.0", "extra@1.0.0")
	created := s.Kyma("seed")

	t.Run("the remote Kyma has its name, its status, and none of its modules", func(t *testing.T) {
		remote := s.RemoteKymas(t)
		require.Len(t, remote, 1)
		require.Equal(t, client.ObjectKey{Namespace: customNamespace, Name: "seed"}, client.ObjectKeyFromObject(&remote[0]))
		require.Empty(t, remote[0].Spec.Modules)
		s.Eventually("the status is copied", 2*time.Minute, func(c *assert.CollectT) {
			status := customKyma(s).Status
			assert.Equal(c, shared.StateReady, status.State)
			assert.Len(c, status.Modules, 2)
		})
	})
	t.Run("the catalog is beside the remote Kyma", func(t *testing.T) {
		var templates v1beta2.ModuleTemplateList
		require.NoError(t, s.Remote.List(t.Context(), &templates))
		require.Len(t, templates.Items, 3)
		for _, template := range templates.Items {
			require.Equal(t, customNamespace, template.Namespace)
		}
	})
	t.Run("what names no namespace is in the Kyma's, what names one is there", func(t *testing.T) {
		require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: "sample-operator"}, &appsv1.Deployment{}))
		require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: "sample-operator-settings"}, &corev1.ConfigMap{}))
		require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: customNamespace, Name: "sample-operator"}, &corev1.ConfigMap{}))
		require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: customNamespace, Name: "extra"}, &corev1.ConfigMap{}))
		samples := &unstructured.UnstructuredList{}
		samples.SetGroupVersionKind(harness.SampleGVK)
		require.NoError(t, s.Remote.List(t.Context(), samples))
		require.Len(t, samples.Items, 1)
		require.Equal(t, customNamespace, samples.Items[0].GetNamespace())
		require.Equal(t, "Ready", harness.SampleState(t, s.Remote))
	})
	t.Run("a module of the remote Kyma comes in addition", func(t *testing.T) {
		harness.Edit(t, s.Remote, customKyma(s), func(k *v1beta2.Kyma) {
			k.Spec.Modules = []v1beta2.Module{{Name: "other"}}
		})
		s.BecomesReady("seed", "sample@1.0.0", "extra@1.0.0", "other@1.0.0")
		require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: customNamespace, Name: "other"}, &corev1.ConfigMap{}))
	})
	t.Run("one taken off the control plane's goes, unless the remote Kyma lists it too", func(t *testing.T) {
		harness.Edit(t, s.Remote, customKyma(s), func(k *v1beta2.Kyma) {
			k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "extra"})
		})
		s.Eventually("the edit is imported", 2*time.Minute, func(c *assert.CollectT) {
			assert.Len(c, s.Kyma("seed").Status.Remote.Modules, 2)
		})
		harness.Edit(t, s.ControlPlane, s.Kyma("seed"), func(k *v1beta2.Kyma) {
			k.Spec.Modules = nil
		})
		s.Eventually("the sample module is removed", 2*time.Minute, func(c *assert.CollectT) {
			assert.Len(c, s.Manifests(created), 2)
		})
		s.BecomesReady("seed", "extra@1.0.0", "other@1.0.0")
		for _, object := range s.OfModule(t, s.Remote) {
			require.NotContains(t, object, "sample")
		}
	})
	t.Run("after its deletion nothing remains", func(t *testing.T) {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), s.Kyma("seed")))
		s.Eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
		require.Empty(t, s.OfModule(t, s.Remote))
		require.Empty(t, s.RemoteKymas(t))
	})
}

// customKyma reads the remote Kyma of the Kyma "seed".
func customKyma(s *harness.Environment) *v1beta2.Kyma {
	s.T.Helper()
	var kyma v1beta2.Kyma
	require.NoError(s.T, s.Remote.Get(s.T.Context(), client.ObjectKey{Namespace: customNamespace, Name: "seed"}, &kyma))
	return &kyma
}
