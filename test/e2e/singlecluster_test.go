package e2e

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// singleClusterGrace is the grace period after which a Kyma in a single cluster is purged.
const singleClusterGrace = 5 * time.Second

// In a single cluster a module is installed into the control plane, and neither its removal nor a purge takes anything else.
func TestTheLifeAndThePurgeOfAKymaInASingleCluster(t *testing.T) {
	s := harness.NewEnvironment(t, "--mode", "single-cluster", "--purge-orderly-attempt", "2s", "--purge-grace-period", singleClusterGrace.String(),
		"--skip-finalizer-purging-for", "example.com/protected")
	s.Remote = s.ControlPlane
	s.Push("test/modules/sample/1.0.0")
	s.Push("test/modules/sample/1.1.0")
	s.Instance.Start()
	before := singleClusterOriginals(t, s)

	t.Run("a module is installed, upgraded and removed", func(t *testing.T) {
		singleClusterLife(t, s)
		require.Equal(t, before, singleClusterOriginals(t, s))
	})
	t.Run("a purge takes the module alone", func(t *testing.T) {
		kyma, _ := isPurged(t, s, "example.com/nobody", before)
		s.Warns(kyma, "Purged", "loses its finalizers example.com/nobody")
		s.Eventually("nothing of the module remains", 3*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.OfModule(t, s.ControlPlane))
		})
	})
	t.Run("an object with a protected finalizer stays after a purge", func(t *testing.T) {
		_, sample := isPurged(t, s, "example.com/protected", before)
		require.NoError(t, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(sample), sample))
		require.Contains(t, sample.GetFinalizers(), "example.com/protected")
		// The finalizer is served at last; the API server may then take minutes to delete the definition.
		s.ControlPlane.ForceDelete(sample)
		s.ControlPlane.ForceDelete(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "samples." + harness.SampleGVK.Group}})
		s.Eventually("nothing of the module remains", 3*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.OfModule(t, s.ControlPlane))
		})
	})
}

// singleClusterLife installs, upgrades and removes a module, and deletes its Kyma. The annotation keeps the purge away.
func singleClusterLife(t *testing.T, s *harness.Environment) {
	kyma := harness.NewKyma("single", "sample")
	metav1.SetMetaDataAnnotation(&kyma.ObjectMeta, shared.AnnotationPurgeGracePeriod, "1h")
	require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
	s.BecomesReady("single", "sample@1.0.0")
	require.Equal(t, "Ready", harness.SampleState(t, s.ControlPlane))

	harness.Edit(t, s.ControlPlane, s.Kyma("single"), func(k *v1beta2.Kyma) {
		k.Spec.Channel = "fast"
	})
	s.BecomesReady("single", "sample@1.1.0")

	harness.Edit(t, s.ControlPlane, s.Kyma("single"), func(k *v1beta2.Kyma) {
		k.Spec.Modules = nil
	})
	s.Eventually("the module is removed", 2*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.Kyma("single").Status.Modules)
		assert.Empty(c, s.Manifests(s.Kyma("single")))
	})
	require.Empty(t, s.OfModule(t, s.ControlPlane))

	require.NoError(t, s.ControlPlane.Delete(t.Context(), s.Kyma("single")))
	s.Eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) {
		assert.True(c, s.IsGone(kyma))
	})
	require.NoError(t, s.ControlPlane.List(t.Context(), &v1beta2.KymaList{}), "the control plane keeps its definitions")
}

// isPurged deletes a Kyma whose sample has this finalizer, waits until the purge has ended, and requires that the cluster has
// the same originals as before. It returns the Kyma and the sample.
func isPurged(t *testing.T, s *harness.Environment, finalizer string, before map[string]types.UID) (*v1beta2.Kyma, *unstructured.Unstructured) {
	t.Helper()
	kyma := harness.NewKyma("single", "sample")
	require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
	s.BecomesReady("single", "sample@1.0.0")
	sample := s.AddSampleFinalizer(t, finalizer)
	require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma))
	s.Eventually("the Kyma is gone", singleClusterGrace+3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
	require.Equal(t, before, singleClusterOriginals(t, s))
	return kyma, sample
}

// singleClusterOriginals are the uids of what no Kyma brings into the single cluster.
func singleClusterOriginals(t *testing.T, s *harness.Environment) map[string]types.UID {
	t.Helper()
	found := originalsIn(t, s)
	delete(found, "CustomResourceDefinition /samples."+harness.SampleGVK.Group)
	delete(found, "Namespace /"+harness.RemoteNamespace) // it is made for the first module, and never removed
	maps.DeleteFunc(found, func(key string, _ types.UID) bool { return strings.HasPrefix(key, "Kyma ") })
	return found
}
