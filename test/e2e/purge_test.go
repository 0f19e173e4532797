package e2e

import (
	"bytes"
	"maps"
	"os/exec"
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
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// A Kyma whose cluster, or the access to it, is lost for good is released in the control plane: after the grace period,
// or by the purge command.
func TestAKymaWhoseClusterIsDeadIsReleased(t *testing.T) {
	s := harness.NewEnvironment(t, "--purge-orderly-attempt", "2s")
	s.PushMinimal("lone")
	s.Instance.Start()
	connection, through := s.ThroughProxy(t)
	for _, name := range []string{"dead", "keyless", "asked"} {
		s.GiveAccess(name, through)
		require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewSynced(name, "lone")))
		s.BecomesReady(name, "lone@1.0.0")
		t.Cleanup(func() { s.RemoveNamespaces(s.Remote, name) })
	}
	connection.Close()

	t.Run("after the grace period", func(t *testing.T) {
		const grace = 10 * time.Second
		gone := []*v1beta2.Kyma{s.Kyma("dead"), s.Kyma("keyless")}
		require.NoError(t, s.ControlPlane.Delete(t.Context(), s.AccessOf(gone[1])))
		for _, kyma := range gone {
			harness.Edit(t, s.ControlPlane, s.Kyma(kyma.Name), func(k *v1beta2.Kyma) {
				metav1.SetMetaDataAnnotation(&k.ObjectMeta, shared.AnnotationPurgeGracePeriod, grace.String())
			})
			require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma))
		}
		for _, kyma := range gone {
			s.Eventually("Kyma "+kyma.Name+" is gone", grace+3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
			s.Warns(kyma, "PurgeAbandoned", "left there")
			require.Equal(t, "1.0.0", s.MinimalVersion(kyma.Name, "lone"), "what could not be reached is there")
		}
	})
	t.Run("when somebody asks for it, with the name of the Kyma", func(t *testing.T) {
		kyma := s.Kyma("asked")
		out, err := runPurge(t, s, "asked", "asked\n")
		require.Error(t, err)
		require.Contains(t, out, "it is not being deleted")
		require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma))
		out, err = runPurge(t, s, "asked", "dead\n")
		require.Error(t, err)
		require.Contains(t, out, "that is not its name: nothing was done")
		require.False(t, s.IsGone(kyma))
		out, err = runPurge(t, s, "asked", "asked\n")
		require.NoError(t, err, out)
		require.Contains(t, out, "Manifest asked-lone-")
		require.Contains(t, out, "Kyma kcp-system/asked is gone")
		require.True(t, s.IsGone(kyma))
		s.Warns(kyma, "PurgeAbandoned", "left there")
	})
}

// In a single cluster a purge removes the module alone; an object with a protected finalizer stays and is named.
func TestAPurgeInASingleClusterTakesTheModuleAlone(t *testing.T) {
	const grace = 5 * time.Second
	s := harness.NewEnvironment(t, "--mode", "single-cluster", "--purge-orderly-attempt", "2s", "--purge-grace-period", grace.String(),
		"--skip-finalizer-purging-for", "example.com/protected")
	s.Remote = s.ControlPlane
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	originals := func() map[string]types.UID {
		found := originalsIn(t, s)
		delete(found, "CustomResourceDefinition /samples."+harness.SampleGVK.Group)
		delete(found, "Namespace /"+harness.RemoteNamespace) // it is made for the first module, and never removed
		maps.DeleteFunc(found, func(key string, _ types.UID) bool { return strings.HasPrefix(key, "Kyma ") })
		return found
	}
	before := originals()
	purged := func(finalizer string) (*v1beta2.Kyma, *unstructured.Unstructured) {
		t.Helper()
		kyma := harness.NewKyma("single", "sample")
		require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
		s.BecomesReady("single", "sample@1.0.0")
		sample := s.AddSampleFinalizer(t, finalizer)
		require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma))
		s.Eventually("the Kyma is gone", grace+3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
		require.Equal(t, before, originals())
		return kyma, sample
	}

	kyma, _ := purged("example.com/nobody")
	s.Warns(kyma, "Purged", "loses its finalizers example.com/nobody")
	s.Eventually("nothing of the module remains", 3*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.OfModule(t, s.ControlPlane))
	})

	_, sample := purged("example.com/protected")
	require.NoError(t, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(sample), sample))
	require.Contains(t, sample.GetFinalizers(), "example.com/protected")
	// The finalizer is served at last; the API server may then take minutes to delete the definition.
	s.ControlPlane.ForceDelete(sample)
	s.ControlPlane.ForceDelete(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "samples." + harness.SampleGVK.Group}})
	s.Eventually("nothing of the module remains", 3*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.OfModule(t, s.ControlPlane))
	})
}

// runPurge runs the command that purges, with what somebody types.
func runPurge(t *testing.T, s *harness.Environment, kyma, typed string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testfleet.Binary(t, "lifecycle-manager"),
		"purge", kyma, "--kubeconfig", s.ControlPlane.Kubeconfig, "--timeout", "4m")
	cmd.Env = s.Variables()
	cmd.Stdin = strings.NewReader(typed)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
