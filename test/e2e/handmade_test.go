package e2e

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// The owner of a cluster may bring a module of their own: a ModuleTemplate that they make there by hand.
func TestATemplateMadeByHandInTheRemoteClusterServesItsKyma(t *testing.T) {
	s := newStage(t)
	s.instance.flags = append(s.instance.flags, "--remote-template-registries", s.registry)
	s.pushTiny("common")
	own := s.pack(tiny{name: "homemade"})
	s.instance.start()
	s.create(newKyma("maker", "common"))
	s.becomesReady("maker", "common@1.0.0")

	s.apply(s.remote, remoteNamespace, bytes.ReplaceAll(own, []byte("namespace: "+controlPlaneNamespace), []byte("namespace: "+remoteNamespace)))
	s.editRemote(func(k *v1beta2.Kyma) {
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "homemade", RemoteModuleTemplateRef: "homemade-1.0.0"})
	})
	s.becomesReady("maker", "common@1.0.0", "homemade@1.0.0")
	require.Equal(t, "1.0.0", s.tinyVersion(remoteNamespace, "homemade"))

	t.Run("when it goes, what is installed of it stays, and says why", func(t *testing.T) {
		template := &v1beta2.ModuleTemplate{}
		template.Name, template.Namespace = "homemade-1.0.0", remoteNamespace
		require.NoError(t, s.remote.Delete(t.Context(), template))
		s.eventually("the status says so", 2*time.Minute, func(c *assert.CollectT) {
			module := s.module("maker", "homemade")
			assert.Equal(c, shared.StateError, module.State)
			assert.NotNil(c, module.Manifest)
		})
		require.Equal(t, "1.0.0", s.tinyVersion(remoteNamespace, "homemade"))
	})
}
