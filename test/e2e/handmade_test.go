package e2e

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// The owner of a cluster may bring a module of their own: a ModuleTemplate that they make there by hand.
func TestATemplateMadeByHandInTheRemoteClusterServesItsKyma(t *testing.T) {
	s := harness.NewStage(t)
	s.Instance.Flags = append(s.Instance.Flags, "--remote-template-registries", s.Registry)
	s.PushTiny("common")
	own := s.Pack(harness.Tiny{Name: "homemade"})
	s.Instance.Start()
	s.Create(harness.NewKyma("maker", "common"))
	s.BecomesReady("maker", "common@1.0.0")

	s.Apply(s.Remote, harness.RemoteNamespace, bytes.ReplaceAll(own, []byte("namespace: "+harness.ControlPlaneNamespace), []byte("namespace: "+harness.RemoteNamespace)))
	s.EditRemote(func(k *v1beta2.Kyma) {
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "homemade", RemoteModuleTemplateRef: "homemade-1.0.0"})
	})
	s.BecomesReady("maker", "common@1.0.0", "homemade@1.0.0")
	require.Equal(t, "1.0.0", s.TinyVersion(harness.RemoteNamespace, "homemade"))

	t.Run("when it goes, what is installed of it stays, and says why", func(t *testing.T) {
		template := &v1beta2.ModuleTemplate{}
		template.Name, template.Namespace = "homemade-1.0.0", harness.RemoteNamespace
		require.NoError(t, s.Remote.Delete(t.Context(), template))
		s.Eventually("the status says so", 2*time.Minute, func(c *assert.CollectT) {
			module := s.Module("maker", "homemade")
			assert.Equal(c, shared.StateError, module.State)
			assert.NotNil(c, module.Manifest)
		})
		require.Equal(t, "1.0.0", s.TinyVersion(harness.RemoteNamespace, "homemade"))
	})
}
