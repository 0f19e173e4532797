package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
)

// webhookFlags switch the admission webhook on, which the API server reaches by loopback.
func webhookFlags(t *testing.T, name, certificate string) []string {
	t.Helper()
	address := process.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return []string{
		"--enable-webhooks", "--webhook-url", "https://localhost:" + port, "--webhook-bind-address", address,
		"--webhook-service-name", name, "--webhook-secret-name", certificate, "--webhook-cert-dir", t.TempDir(),
	}
}

// removeWebhook removes at the end what the webhook leaves: later tests on this fleet would be asked by nobody.
func removeWebhook(s *harness.Environment, name, certificate string) {
	s.T.Cleanup(func() {
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: certificate, Namespace: harness.ControlPlaneNamespace}}
		_ = s.ControlPlane.Delete(context.Background(), configuration)
		_ = s.ControlPlane.Delete(context.Background(), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: configuration.ObjectMeta})
		_ = s.ControlPlane.Delete(context.Background(), secret)
	})
}

// What must not be installed is refused where it is applied, or else in the status, and before anything is fetched.
func TestWhatIsNotSignedOrCannotBeUsedIsRefused(t *testing.T) {
	const webhook, certificate = "e2e-admission-webhook", "e2e-admission-webhook-tls"
	s := harness.NewEnvironment(t, append(webhookFlags(t, webhook, certificate), "--signature-policy", "require")...)
	removeWebhook(s, webhook, certificate)
	s.SweepOften() // that a key is there is found by passes
	private, public := keyPair(t)
	s.PushModule(harness.MinimalModule{Name: "plain", Channels: "regular"})
	s.PushModule(harness.MinimalModule{Name: "signed", Channels: "regular", PushFlags: []string{"--sign-key", private, "--signature-name", "releases"}})
	s.Instance.Start()
	s.Create(harness.NewKyma("guarded", "plain", "signed"))

	s.Eventually("both are refused", 2*time.Minute, func(c *assert.CollectT) {
		modules := harness.ModulesByName(s.Kyma("guarded").Status.Modules)
		for _, name := range []string{"plain", "signed"} {
			assert.Equal(c, shared.StateError, modules[name].State, name)
			assert.Contains(c, modules[name].Message, "signature not accepted", name)
			assert.Nil(c, modules[name].Manifest, "nothing is fetched for %s", name)
		}
		assert.Contains(c, s.Warnings(s.Kyma("guarded")), "SignatureRefused")
	})
	t.Run("the key that was missing makes the signed one welcome", func(t *testing.T) {
		require.NoError(t, s.ControlPlane.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				GenerateName: "releases-", Namespace: harness.ControlPlaneNamespace, Labels: map[string]string{shared.LabelSignature: "releases"},
			},
			Data: map[string][]byte{shared.SignatureSecretKey: public},
		}))
		t.Cleanup(func() {
			_ = s.ControlPlane.DeleteAllOf(context.Background(), &corev1.Secret{}, client.InNamespace(harness.ControlPlaneNamespace), client.MatchingLabels{shared.LabelSignature: "releases"})
		})
		s.ReadyAmongOthers("guarded", "signed", "1.0.0")
		require.Equal(t, shared.StateError, s.Module("guarded", "plain").State)
	})
	t.Run("a descriptor that cannot be used is refused at admission, with its path", func(t *testing.T) {
		template := &v1beta2.ModuleTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: "broken-1.0.0", Namespace: harness.ControlPlaneNamespace},
			Spec: v1beta2.ModuleTemplateSpec{ModuleName: "broken", Version: "1.0.0", Descriptor: &runtime.RawExtension{Raw: []byte(
				`{"meta":{"schemaVersion":"v2"},"component":{"name":"kyma-project.io/module/broken","version":"1.0.0","provider":"internal",` +
					`"repositoryContexts":[],"resources":[],"sources":[],"componentReferences":[]}}`)}},
		}
		s.Eventually("the webhook answers", time.Minute, func(c *assert.CollectT) {
			err := s.ControlPlane.Create(s.T.Context(), template.DeepCopy())
			if err == nil {
				// Not yet: the certificate is still on its way into the configuration.
				require.NoError(c, s.ControlPlane.Delete(s.T.Context(), template.DeepCopy()))
			}
			assert.True(c, apierrors.IsInvalid(err), "%v", err)
			assert.ErrorContains(c, err, "spec.descriptor.component.resources")
		})
	})
}

// keyPair makes a key: the file with its private half, and its public half in PEM.
func keyPair(t *testing.T) (private string, public []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	private = filepath.Join(t.TempDir(), "key.pem")
	content := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	require.NoError(t, os.WriteFile(private, content, 0o600))
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(t, err)
	return private, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
