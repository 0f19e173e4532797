package certmanager

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Controllers are cert-manager's own, which run beside a test as a process (test/certmanager), and an Issuer.
type Controllers struct {
	client client.Client
	issuer types.NamespacedName
}

// Run runs cert-manager's controllers for one namespace of a cluster, which has its definitions, until the end of the test, and
// makes an Issuer there with an authority of its own.
func Run(t testing.TB, c client.Client, kubeconfig string, issuer types.NamespacedName) *Controllers {
	t.Helper()
	made := &Controllers{client: c, issuer: issuer}
	made.Rotate(t)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ca": map[string]any{"secretName": issuer.Name}}}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: CertManager.Group, Version: CertManager.Version, Kind: "Issuer"})
	object.SetNamespace(issuer.Namespace)
	object.SetName(issuer.Name)
	require.NoError(t, c.Create(t.Context(), object))
	log, err := os.Create(filepath.Join(t.TempDir(), "cert-manager.log"))
	require.NoError(t, err)
	running := process.Start(t, log, os.Environ(), testfleet.Binary(t, "cert-manager"), kubeconfig, issuer.Namespace)
	t.Cleanup(func() {
		running.Stop(syscall.SIGTERM)
		_ = log.Close()
		if said, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("cert-manager's log ends with:\n%s", said[max(len(said)-maxShown, 0):])
		}
		require.NoError(t, client.IgnoreNotFound(c.Delete(context.Background(), object)))
	})
	return made
}

// maxShown is how much of its log a failed test prints, in bytes.
const maxShown = 8 << 10

// Rotate gives the Issuer another authority, which signs from now on. What is issued stays until it is to be renewed.
func (r *Controllers) Rotate(t testing.TB) {
	t.Helper()
	now := time.Now()
	pair, err := pki.NewAuthority("klm "+now.Format(time.RFC3339Nano), now, now.Add(authorityLifetime))
	require.NoError(t, err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.issuer.Namespace, Name: r.issuer.Name}, Type: corev1.SecretTypeTLS}
	data := map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.PrivateKey}
	require.NoError(t, client.IgnoreNotFound(r.client.Get(t.Context(), r.issuer, secret)))
	secret.Data = data
	if secret.ResourceVersion == "" {
		require.NoError(t, r.client.Create(t.Context(), secret))
		return
	}
	require.NoError(t, r.client.Update(t.Context(), secret))
}
