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

// The owner of a cluster may provide a module of their own, by a ModuleTemplate in the remote cluster.
func ownTemplateServes(t *testing.T, s *harness.Environment) {
	t.Helper()
	s.Instance.Stop()
	s.Instance.Flags = []string{"--remote-template-registries", s.Registry}
	template := s.Pack(harness.MinimalModule{Name: "own"})
	s.Instance.Start()
	s.BecomesReady("returning", "given@1.0.0", "added@1.0.0")

	s.Apply(s.Remote, harness.RemoteNamespace, bytes.ReplaceAll(template, []byte("namespace: "+harness.ControlPlaneNamespace), []byte("namespace: "+harness.RemoteNamespace)))
	s.EditRemote(func(k *v1beta2.Kyma) {
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "own", RemoteModuleTemplateRef: "own-1.0.0"})
	})
	s.BecomesReady("returning", "given@1.0.0", "added@1.0.0", "own@1.0.0")
	require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "own"))

	t.Run("when it is deleted, what is installed stays, with the reason", func(t *testing.T) {
		template := &v1beta2.ModuleTemplate{}
		template.Name, template.Namespace = "own-1.0.0", harness.RemoteNamespace
		require.NoError(t, s.Remote.Delete(t.Context(), template))
		s.Eventually("the status has the reason", 2*time.Minute, func(c *assert.CollectT) {
			module := s.Module("returning", "own")
			assert.Equal(c, shared.StateError, module.State)
			assert.NotNil(c, module.Manifest)
		})
		require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "own"))
	})
}
