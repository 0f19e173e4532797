package harness

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// GiveAccess gives the Kyma of this name access by a kubeconfig: it creates its access Secret, or changes it.
func (s *Environment) GiveAccess(kyma string, kubeconfig []byte) {
	s.T.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kyma + "-access", Namespace: ControlPlaneNamespace}}
	change := func() {
		secret.Labels, secret.Data = map[string]string{shared.LabelKymaName: kyma}, map[string][]byte{"config": kubeconfig}
	}
	err := s.ControlPlane.Get(s.T.Context(), client.ObjectKeyFromObject(secret), secret)
	if apierrors.IsNotFound(err) {
		change()
		require.NoError(s.T, s.ControlPlane.Create(s.T.Context(), secret))
		return
	}
	require.NoError(s.T, err)
	EditObject(s.T, s.ControlPlane, secret, change)
}

// AccessOf is the Secret that gives a Kyma, in its own namespace, access to the remote cluster.
func (s *Environment) AccessOf(kyma *v1beta2.Kyma) *corev1.Secret {
	s.T.Helper()
	config, err := os.ReadFile(s.Remote.Access)
	require.NoError(s.T, err)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: kyma.Name + "-access", Namespace: kyma.Namespace, Labels: map[string]string{shared.LabelKymaName: kyma.Name},
		},
		Data: map[string][]byte{"config": config},
	}
}

// RemoteAccess is the kubeconfig of Lifecycle Manager's account in the remote cluster.
func (s *Environment) RemoteAccess(t *testing.T) []byte {
	t.Helper()
	kubeconfig, err := os.ReadFile(s.Remote.Access)
	require.NoError(t, err)
	return kubeconfig
}

// Planted is in every credential of the tests, and must never show up in the output.
const Planted = "PLANTED-9f2c61d0b7"

// Kubeconfig is a kubeconfig for a server with this certificate authority, with a planted token; change, which may be
// nil, changes it.
func Kubeconfig(t testing.TB, server string, authority []byte, change func(*clientcmdapi.Config)) []byte {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "c"
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: Planted + "-token"}
	if change != nil {
		change(config)
	}
	raw, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return raw
}
