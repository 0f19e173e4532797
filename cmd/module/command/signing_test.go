package command_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
)

// keyFile writes a new private key. It returns the file and the public key in
// PEM.
func keyFile(t *testing.T, pkcs8 bool) (file string, public []byte) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}
	if pkcs8 {
		der, err := x509.MarshalPKCS8PrivateKey(private)
		require.NoError(t, err)
		block = &pem.Block{Type: "PRIVATE KEY", Bytes: der}
	}
	file = filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	require.NoError(t, err)
	return file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// requireAccepted verifies the printed ModuleTemplate with the server's code.
func requireAccepted(t *testing.T, printed string, public []byte) {
	t.Helper()
	var template v1beta2.ModuleTemplate
	require.NoError(t, yaml.Unmarshal([]byte(printed), &template))
	require.Equal(t, "releases", template.Labels[shared.LabelSignature])
	keys := fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "releases", Namespace: "kcp-system", Labels: map[string]string{shared.LabelSignature: "releases"}},
		Data:       map[string][]byte{"key": public},
	}).Build()
	verifier, err := signature.New(signature.Options{Policy: signature.Require, Keys: keys})
	require.NoError(t, err)
	require.NoError(t, verifier.Verify(t.Context(), template.Spec.Descriptor.Raw, template.Labels))
}

// first returns the first printed document, which is the ModuleTemplate.
func first(out string) string {
	template, _, _ := strings.Cut(out, "\n---\n")
	return template
}

func TestServerAcceptsOurSignatures(t *testing.T) {
	for _, algorithm := range []string{"rsa-pkcs1v15", "rsassa-pss"} {
		for _, pkcs8 := range []bool{false, true} {
			file, public := keyFile(t, pkcs8)
			signing := []string{"--sign-key", file, "--signature-name", "releases", "--signature-algorithm", algorithm}
			t.Run("create with "+algorithm, func(t *testing.T) {
				archive := filepath.Join(t.TempDir(), "archive")
				got := module(t, append([]string{"create", "testdata/widget", "--archive", archive}, signing...)...)
				require.Equal(t, 0, got.code, got.err)
				requireAccepted(t, first(got.out), public)
			})
			t.Run("push with "+algorithm, func(t *testing.T) {
				got := module(t, append([]string{"push", "testdata/widget", "--registry", newRegistry(t), "--plain-http"}, signing...)...)
				require.Equal(t, 0, got.code, got.err)
				requireAccepted(t, first(got.out), public)
			})
		}
	}
}

func TestASignatureIsAddedToAPushedVersionOnce(t *testing.T) {
	address := newRegistry(t)
	push := []string{"push", "testdata/widget", "--registry", address, "--plain-http"}
	require.Equal(t, 0, module(t, push...).code)

	file, public := keyFile(t, false)
	pushSigned := append(slices.Clone(push), "--sign-key", file, "--signature-name", "releases", "--signature-algorithm", "rsassa-pss")
	signed := module(t, pushSigned...)
	require.Equal(t, 0, signed.code, signed.err)
	require.Contains(t, signed.err, "pushed ")
	requireAccepted(t, first(signed.out), public)

	again := module(t, pushSigned...)
	require.Equal(t, 0, again.code, again.err)
	require.Contains(t, again.err, "with the same content")
	require.Equal(t, signed.out, again.out)

	other, otherPublic := keyFile(t, false)
	rotated := module(t, append(slices.Clone(push), "--sign-key", other, "--signature-name", "releases")...)
	require.Equal(t, 0, rotated.code, rotated.err)
	requireAccepted(t, first(rotated.out), otherPublic)
}

func TestInvalidSigningFlags(t *testing.T) {
	file, public := keyFile(t, false)
	publicFile := filepath.Join(t.TempDir(), "public.pem")
	require.NoError(t, os.WriteFile(publicFile, public, 0o600))
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"a key without a name":             {[]string{"--sign-key", file}, "--sign-key needs --signature-name"},
		"a name without a key":             {[]string{"--signature-name", "releases"}, "--signature-name needs --sign-key"},
		"a name that is not a label value": {[]string{"--sign-key", file, "--signature-name", "a b"}, `signature name "a b"`},
		"an unknown algorithm":             {[]string{"--sign-key", file, "--signature-name", "a", "--signature-algorithm", "rot13"}, "use rsa-pkcs1v15 or rsassa-pss"},
		"a missing key file":               {[]string{"--sign-key", file + ".not", "--signature-name", "a"}, "read the key"},
		"a public key":                     {[]string{"--sign-key", publicFile, "--signature-name", "a"}, "private key in PEM"},
		"a file without a key":             {[]string{"--sign-key", "testdata/widget/module-config.yaml", "--signature-name", "a"}, "private key in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			archive := filepath.Join(t.TempDir(), "archive")
			got := module(t, append([]string{"create", "testdata/widget", "--archive", archive}, test.arguments...)...)
			require.Equal(t, 2, got.code, got.err)
			require.Contains(t, got.err, test.want)
			require.NoDirExists(t, archive)
		})
	}
}
