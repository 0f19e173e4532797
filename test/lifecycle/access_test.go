package lifecycle

import (
	"context"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

const rbac = rbacv1.GroupName + "/v1"

// withOurAccess is a module that brings what gives us access, in addition to its own objects.
const withOurAccess = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: ID-access, namespace: default, labels: {taken: ID}}
---
apiVersion: v1
kind: Secret
metadata: {name: ID-token, namespace: default, annotations: {kubernetes.io/service-account.name: ID-access}}
type: kubernetes.io/service-account-token
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ID-access}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: own, namespace: ID-remote}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ID-own}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: own, namespace: ID-remote}, {kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:authenticated"}]
---
apiVersion: v1
kind: Secret
metadata: {name: ID-old-token, namespace: default}
stringData: {token: ID}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ID-rights}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ID-rights, namespace: default}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ID-others, labels: {taken: ID}}
rules: []
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: own, namespace: ID-remote}
`

// ourAccess creates an account with its rights in the remote cluster, which from then on is the only access to it.
func (s *environment) ourAccess() types.NamespacedName {
	s.Helper()
	ctx := context.Background()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.id + "-access"}}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}}
	others := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "other", Namespace: account.Namespace}}
	rights, all := s.id+"-rights", []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	for _, object := range []client.Object{
		account,
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.id + "-old-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: account.Name}},
			Type:       corev1.SecretTypeServiceAccountToken,
		},
		clusterRoleBinding(s.id+"-access", "cluster-admin", subjects),
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: rights}, Rules: all},
		clusterRoleBinding(rights, rights, subjects),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: rights}, Rules: all},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: rights}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: rights},
		},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.id + "-others"}},
		clusterRoleBinding(s.id+"-others", s.id+"-others", others),
	} {
		require.NoError(s, s.remote.Create(ctx, object))
		s.Cleanup(func() { _ = s.remote.Delete(ctx, object) })
	}
	token := &authenticationv1.TokenRequest{}
	require.NoError(s, s.remote.SubResource("token").Create(ctx, account, token))
	admin, err := clientcmd.LoadFromFile(testfleet.Require(s, "LM_TEST_REMOTE"))
	require.NoError(s, err)
	cluster := admin.Clusters[admin.Contexts[admin.CurrentContext].Cluster]
	s.setAccess([]byte(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
clusters: [{name: a, cluster: {server: %q, certificate-authority-data: %s}}], users: [{name: a, user: {token: %s}}]}`,
		cluster.Server, base64.StdEncoding.EncodeToString(cluster.CertificateAuthorityData), token.Status.Token)))
	return client.ObjectKeyFromObject(account)
}

func clusterRoleBinding(name, role string, subjects []rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
}

func TestAModuleCannotRemoveTheAccessToItsCluster(t *testing.T) {
	testfleet.NeedsRealRemote(t, "tokens of ServiceAccounts")
	s := newEnvironment(t, withOurAccess, nil)
	account := s.ourAccess()

	for range 2 {
		result := s.apply()
		require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
		require.Equal(t, shared.StateError, result.Observed.State)
		require.Contains(t, result.Observed.Message, "it is part of Lifecycle Manager's access to this cluster")
	}
	require.NotContains(t, s.get("v1", "ServiceAccount", "default", account.Name).GetLabels(), "taken")
	require.Nil(t, s.get("v1", "Secret", "default", "ID-token"), "which would hold a token of the account")
	binding := s.get(rbac, "ClusterRoleBinding", "", "ID-access")
	require.Contains(t, fmt.Sprint(binding.Object["subjects"]), account.Name)
	require.Empty(t, binding.GetAnnotations())
	token := s.get("v1", "Secret", "default", "ID-old-token")
	require.Empty(t, token.GetAnnotations()[shared.AnnotationOwnedBy])
	require.NotContains(t, fmt.Sprint(token.Object["data"]), base64.StdEncoding.EncodeToString([]byte(s.id)))
	for _, kind := range []string{"ClusterRole", "Role"} {
		namespace := map[string]string{"Role": "default"}[kind]
		require.NotEmpty(t, s.get(rbac, kind, namespace, "ID-rights").Object["rules"], "which are the account's rights")
	}
	require.Contains(t, s.get(rbac, "ClusterRole", "", "ID-others").GetLabels(), "taken", "those of others are not refused")
	require.NotNil(t, s.get("v1", "ServiceAccount", "ID-remote", "own"), "the rest is applied")
	require.NotNil(t, s.get(rbac, "ClusterRoleBinding", "", "ID-own"), "what everybody has is not our access")
	for _, e := range s.read().Status.Inventory {
		require.NotRegexp(t, "-(access|rights|old-token)", e.ID, "what is refused is in no inventory")
	}

	s.delete()
	require.Equal(t, manifests.OutcomeRemoved, s.remove(readiness.Observed{}).Outcome)
	require.NotNil(t, s.get("v1", "ServiceAccount", "default", account.Name))
	require.NotNil(t, s.get(rbac, "ClusterRole", "", "ID-rights"))
}

func TestAHookCannotGetATokenOfOurAccount(t *testing.T) {
	testfleet.NeedsRealRemote(t, "tokens of ServiceAccounts")
	s := newEnvironment(t, "", nil)
	s.ourAccess()
	s.update(func(m *v1beta2.Manifest) {
		m.Spec.Install.Source = s.chart("1.0.0", "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/service-account-token\n"+
			"metadata: {name: "+s.id+"-token, namespace: default, annotations: {helm.sh/hook: pre-install, kubernetes.io/service-account.name: "+s.id+"-access}}\n---\n"+configMap("settings"))
	})
	result := s.apply()
	require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
	require.Contains(t, result.Observed.Message, "it is part of Lifecycle Manager's access to this cluster")
	require.Nil(t, s.get("v1", "Secret", "default", "ID-token"))
}
