package signature_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"ocm.software/ocm/api/ocm/compdesc"
	ocmv1 "ocm.software/ocm/api/ocm/compdesc/meta/v1"
	"ocm.software/ocm/api/tech/signing"
	rsahandler "ocm.software/ocm/api/tech/signing/handlers/rsa"
	"ocm.software/ocm/api/tech/signing/hasher/sha256"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

const (
	layerHex   = "f4a599c4310b0fe9133b67b72d9b15ee96b52a1872132528c83978239b5effef"
	exchanged  = "8f926a08ca246707beb9c902e6df7e8c3e89d2e75ff4732f8f00c424ba8456bf"
	configHex  = "c0ffee1111111111111111111111111111111111111111111111111111111111"
	descriptV2 = `
meta: {schemaVersion: v2}
component:
  name: kyma-project.io/module/keda
  version: 1.2.3
  provider: internal
  repositoryContexts:
  - {type: ociRegistry, baseUrl: registry.example.com/modules, componentNameMapping: urlPath}
  componentReferences: []
  sources: []
  resources:
  - name: raw-manifest
    type: yaml
    version: 1.2.3
    relation: local
    access: {type: localOciBlob, digest: "sha256:` + layerHex + `"}
    digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: genericBlobDigest/v1, value: ` + layerHex + `}
  - name: config
    type: yaml
    version: 1.2.3
    relation: local
    access: {type: localBlob, localReference: "sha256:` + configHex + `", mediaType: application/x-yaml}
    digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: genericBlobDigest/v1, value: ` + configHex + `}
  - name: operator
    type: ociImage
    version: 1.2.3
    relation: external
    access: {type: ociArtifact, imageReference: "registry.example.com/keda:1.2.3"}
    digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: ociArtifactDigest/v1, value: ` + configHex + `}
`
	descriptV3 = `
apiVersion: ocm.software/v3alpha1
kind: ComponentVersion
metadata:
  name: kyma-project.io/module/keda
  version: 1.2.3
  provider: {name: internal}
repositoryContexts:
- {type: ociRegistry, baseUrl: registry.example.com/modules, componentNameMapping: urlPath}
spec:
  resources:
  - name: raw-manifest
    type: yaml
    version: 1.2.3
    relation: local
    access: {type: ociBlob, ref: registry.example.com/layers/keda, digest: "sha256:` + layerHex + `", mediaType: application/x-yaml, size: 10}
    digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: genericBlobDigest/v1, value: ` + layerHex + `}
  - name: config
    type: yaml
    version: 1.2.3
    relation: local
    access: {type: localBlob, localReference: "sha256:` + configHex + `", mediaType: application/x-yaml}
    digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: genericBlobDigest/v1, value: ` + configHex + `}
`
)

// signer signs descriptors like the OCM library. The zero value signs with PKCS1v1.5, SHA-256 and jsonNormalisation/v3
// as signature "kyma" with the test's first key.
type signer struct {
	name    string
	private *rsa.PrivateKey
	handler signing.Signer
	hasher  signing.Hasher
	norm    string
}

func (s signer) withDefaults() signer {
	if s.name == "" {
		s.name = "kyma"
	}
	if s.private == nil {
		s.private = ours()
	}
	if s.handler == nil {
		s.handler = rsahandler.NewHandler()
	}
	if s.hasher == nil {
		s.hasher = sha256.Handler{}
	}
	if s.norm == "" {
		s.norm = compdesc.JsonNormalisationV3
	}
	return s
}

// sign returns the descriptor with an additional signature, as JSON in the same schema.
func (s signer) sign(t *testing.T, raw string) string {
	t.Helper()
	s = s.withDefaults()
	decoded, err := descriptor.Decode([]byte(raw))
	require.NoError(t, err)
	toHash, err := descriptor.Decode([]byte(raw))
	require.NoError(t, err)
	digest, err := compdesc.Hash(toHash, s.norm, s.hasher.Create())
	require.NoError(t, err)
	signature, err := s.handler.Sign(nil, digest, &signing.DefaultSigningContext{Hash: s.hasher.Crypto(), PrivateKey: s.private})
	require.NoError(t, err)
	decoded.Signatures = append(decoded.Signatures, ocmv1.Signature{
		Name:      s.name,
		Digest:    ocmv1.DigestSpec{HashAlgorithm: s.hasher.Algorithm(), NormalisationAlgorithm: s.norm, Value: digest},
		Signature: *ocmv1.SignatureSpecFor(signature),
	})
	return encode(t, decoded)
}

func encode(t *testing.T, decoded *compdesc.ComponentDescriptor) string {
	t.Helper()
	schema := compdesc.SchemaVersion(decoded.SchemaVersion())
	encoded, err := compdesc.Encode(decoded, schema, compdesc.DefaultJSONCodec)
	require.NoError(t, err)
	return string(encoded)
}

// replace replaces all occurrences of a text, which must exist.
func replace(t *testing.T, in, old, changed string) string {
	t.Helper()
	require.Contains(t, in, old)
	return strings.ReplaceAll(in, old, changed)
}

var (
	ours   = sync.OnceValue(generate)
	theirs = sync.OnceValue(generate)
)

func generate() *rsa.PrivateKey {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return private
}

func pkix(t *testing.T, public any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func pkcs1(private *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&private.PublicKey)})
}

func elliptical(t *testing.T) []byte {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return pkix(t, &private.PublicKey)
}

// secret returns a Secret with the key of a signature.
func secret(name, signature string, content []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "kcp-system", UID: types.UID("uid-" + name),
			Labels: map[string]string{shared.LabelSignature: signature},
		},
		Data: map[string][]byte{"key": content},
	}
}
