package objects

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestTheAgentIsProtectedFromModulesAndRemovedWithItsOwnManifest(t *testing.T) {
	t.Parallel()
	module, agent := &v1beta2.Manifest{}, &v1beta2.Manifest{}
	agent.SetName(shared.RemoteAgentName("one"))
	protects := func(m *v1beta2.Manifest, group, version, kind, namespace, name string) bool {
		return Target{Manifest: m}.IsProtected(schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, types.NamespacedName{Namespace: namespace, Name: name})
	}
	for _, policy := range []string{"seed-to-watcher", "metrics-to-watcher", "watcher-to-apiserver", "watcher-to-dns"} {
		require.True(t, protects(module, "networking.k8s.io", "v1", "NetworkPolicy", "kyma-system", "kyma-project.io--"+policy))
		require.False(t, protects(agent, "networking.k8s.io", "v1", "NetworkPolicy", "kyma-system", "kyma-project.io--"+policy))
	}
	require.True(t, protects(module, "apps", "v1", "Deployment", "kyma-system", "skr-webhook"))
	require.False(t, protects(agent, "apps", "v1", "Deployment", "kyma-system", "skr-webhook"))
	require.True(t, protects(agent, "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "", "kymas.operator.kyma-project.io"),
		"the agent's Manifest has no right to anything else")
	require.True(t, protects(agent, "", "v1", "Namespace", "", "kyma-system"))
}
