package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Who does not give cluster-admin in a remote cluster gives the documented ClusterRole. What is missing in it is named.
func documentedRightsSuffice(t *testing.T, s *harness.Environment) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(testfleet.Root(t), "deploy", "rights", "remote.yaml"))
	require.NoError(t, err)
	role := &rbacv1.ClusterRole{}
	require.NoError(t, yaml.UnmarshalStrict(content, role))
	without := func(resource string) []rbacv1.PolicyRule {
		return slices.DeleteFunc(slices.Clone(role.Rules), func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, resource) })
	}

	kyma := harness.NewKyma("limited", "sample")
	access := s.AccessOf(kyma)
	access.Data["config"] = s.NewLimitedAccount(t, "without-definitions", without("customresourcedefinitions")).Kubeconfig
	require.NoError(t, s.ControlPlane.Create(t.Context(), access))
	require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
	says := func(texts ...string) {
		t.Helper()
		s.Eventually("the status says which right is missing", 2*time.Minute, func(c *assert.CollectT) {
			content, err := json.Marshal(s.Kyma("limited").Status)
			require.NoError(c, err)
			for _, text := range texts {
				assert.Contains(c, strings.ReplaceAll(string(content), `\"`, `"`), text)
			}
		})
	}
	says("UnreachableForbidden", `resource "customresourcedefinitions" in API group "apiextensions.k8s.io"`)
	s.GiveAccess("limited", s.NewLimitedAccount(t, "without-accounts", without("serviceaccounts")).Kubeconfig)
	says(`forbidden: cannot patch resource "serviceaccounts" in API group "" in the namespace "kyma-system"`)
	s.GiveAccess("limited", s.NewLimitedAccount(t, "documented", role.Rules).Kubeconfig)
	s.BecomesReady("limited", "sample@1.0.0")
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
	s.BecomesReady("limited", "sample@1.1.0")
	s.RemoveKyma("limited")
	require.Empty(t, s.OfModule(t, s.Remote))
}
