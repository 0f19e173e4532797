package install

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
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// withOurAccess is a module that brings what gives us access, beside something of its own.
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
kind: ServiceAccount
metadata: {name: own, namespace: ID-remote}
`

func TestAModuleCannotTakeAwayTheAccessToItsCluster(t *testing.T) {
	s := newStand(t, withOurAccess, nil)
	ctx := context.Background()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.id + "-access"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.id + "-access"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}},
	}
	for _, object := range []client.Object{account, binding} {
		require.NoError(t, s.remote.Create(ctx, object))
		t.Cleanup(func() { _ = s.remote.Delete(ctx, object) })
	}
	token := &authenticationv1.TokenRequest{}
	require.NoError(t, s.remote.SubResource("token").Create(ctx, account, token))
	admin, err := clientcmd.LoadFromFile(testfleet.Require(t, "LM_TEST_REMOTE"))
	require.NoError(t, err)
	cluster := admin.Clusters[admin.Contexts[admin.CurrentContext].Cluster]
	s.leadTo([]byte(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
clusters: [{name: a, cluster: {server: %q, certificate-authority-data: %s}}], users: [{name: a, user: {token: %s}}]}`,
		cluster.Server, base64.StdEncoding.EncodeToString(cluster.CertificateAuthorityData), token.Status.Token)))

	for range 2 {
		result := s.apply()
		require.Equal(t, OutcomeIncomplete, result.Outcome)
		require.Equal(t, shared.StateError, result.Observed.State)
		require.Contains(t, result.Observed.Message, ofAccess)
	}
	require.NotContains(t, s.get("v1", "ServiceAccount", "default", account.Name).GetLabels(), "taken")
	require.Nil(t, s.get("v1", "Secret", "default", "ID-token"), "which would hold a token of the account")
	require.NoError(t, s.remote.Get(ctx, client.ObjectKeyFromObject(binding), binding))
	require.Equal(t, account.Name, binding.Subjects[0].Name)
	require.Empty(t, binding.Annotations)
	require.NotNil(t, s.get("v1", "ServiceAccount", "ID-remote", "own"), "the rest is applied")
	require.NotNil(t, s.get("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "ID-own"), "what everybody has is not our access")
	for _, e := range s.read().Status.Inventory {
		require.NotContains(t, e.ID, "-access", "what is refused is in no inventory")
	}

	s.delete()
	require.Equal(t, OutcomeRemoved, s.remove(Observed{}).Outcome)
	require.NotNil(t, s.get("v1", "ServiceAccount", "default", account.Name))
}
