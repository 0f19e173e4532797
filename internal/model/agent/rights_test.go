package agent_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func TestTheDocumentedRightsInARemoteClusterSufficeForTheAgent(t *testing.T) {
	content, err := os.ReadFile("../../../deploy/rights/remote.yaml")
	require.NoError(t, err)
	role := &rbacv1.ClusterRole{}
	require.NoError(t, yaml.UnmarshalStrict(content, role))
	needed := []schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Namespace"}}
	for _, o := range objectsOf(t, specOf(watcher("kcp-system", "kyma", nil))) {
		needed = append(needed, o.GroupVersionKind())
	}
	for _, gvk := range needed {
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		for _, verb := range []string{"get", "list", "create", "patch", "delete"} {
			require.True(t, slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
				return slices.Contains(rule.APIGroups, resource.Group) && slices.Contains(rule.Resources, resource.Resource) && slices.Contains(rule.Verbs, verb)
			}), "%s %s.%s", verb, resource.Resource, resource.Group)
		}
	}
}
