package harness

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Account is a service account in the remote cluster with access until it is revoked.
type Account struct {
	Kubeconfig []byte
	// Revoke removes the account, after which the kubeconfig is refused. It may be called twice.
	Revoke func()
}

// NewAccount makes an account with all rights. It is removed at the end of the test.
func (s *Environment) NewAccount(t *testing.T, name string) Account {
	t.Helper()
	return s.newAccount(t, name, "cluster-admin")
}

// NewLimitedAccount makes an account with the rights of these rules. It is removed at the end of the test.
func (s *Environment) NewLimitedAccount(t *testing.T, name string, rules []rbacv1.PolicyRule) Account {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	require.NoError(t, s.Remote.Create(t.Context(), role))
	s.T.Cleanup(func() { _ = s.Remote.Delete(context.Background(), role) })
	return s.newAccount(t, name, name)
}

func (s *Environment) newAccount(t *testing.T, name, role string) Account {
	t.Helper()
	user := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: "kube-system"}},
	}
	require.NoError(t, s.Remote.Create(t.Context(), user))
	require.NoError(t, s.Remote.Create(t.Context(), binding))
	revoke := func() { require.NoError(t, client.IgnoreNotFound(s.Remote.Delete(t.Context(), user))) }
	s.T.Cleanup(func() {
		for _, object := range []client.Object{user, binding} {
			_ = client.IgnoreNotFound(s.Remote.Delete(context.Background(), object))
		}
	})
	token := &authenticationv1.TokenRequest{}
	require.NoError(t, s.Remote.SubResource("token").Create(t.Context(), user, token))
	config, err := clientcmd.Load(s.RemoteAccess(t))
	require.NoError(t, err)
	config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	raw, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return Account{Kubeconfig: raw, Revoke: revoke}
}
