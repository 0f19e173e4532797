package signature_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
)

func TestAnExchangedLayerIsRefusedAlthoughTheSignatureVerifies(t *testing.T) {
	signedV2, signedV3 := signer{}.sign(t, descriptV2), signer{}.sign(t, descriptV3)
	cases := []struct{ name, raw, says string }{
		{"of a localOciBlob", replace(t, signedV2, `"digest":"sha256:`+layerHex, `"digest":"sha256:`+exchanged), `"raw-manifest"`},
		{"of a localBlob", replace(t, signedV2, `"localReference":"sha256:`+configHex, `"localReference":"sha256:`+exchanged), `"config"`},
		{"of an ociBlob", replace(t, signedV3, `"digest":"sha256:`+layerHex, `"digest":"sha256:`+exchanged), `"raw-manifest"`},
		{"by another type of access that means another field", replace(t, signedV2, `{"digest":"sha256:`+layerHex+`","type":"localOciBlob"}`,
			`{"digest":"sha256:`+layerHex+`","localReference":"sha256:`+exchanged+`","type":"localBlob"}`), `"raw-manifest"`},
		{"by an access that is not supported", replace(t, signedV2, `"type":"localOciBlob"`, `"type":"s3"`), `"raw-manifest"`},
		{"by no digest at all", replace(t, signedV2, `"digest":"sha256:`+layerHex+`","type"`, `"digest":"","type"`), `"raw-manifest"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t, signature.IfSigned, secret("keys", "kyma", pkcs1(ours())))
			err := w.verify(t, c.raw)
			require.ErrorIs(t, err, signature.ErrSignature)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "would be fetched as")
		})
	}
}

func TestASignatureMustCoverTheInstalledContent(t *testing.T) {
	digest := `{hashAlgorithm: SHA-256, normalisationAlgorithm: genericBlobDigest/v1, value: ` + layerHex + `}`
	cases := []struct{ name, digest, says string }{
		{"the digest says that the content is excluded", `{hashAlgorithm: NO-DIGEST, normalisationAlgorithm: EXCLUDE-FROM-SIGNATURE, value: NO-DIGEST}`, "has no digest"},
		{"the digest is not a digest of the bytes", `{hashAlgorithm: SHA-256, normalisationAlgorithm: ociArtifactDigest/v1, value: ` + layerHex + `}`, "cannot be compared"},
		{"layers cannot be fetched by the digest", `{hashAlgorithm: SHA-512, normalisationAlgorithm: genericBlobDigest/v1, value: ` + layerHex + layerHex + `}`, "cannot be compared"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t, signature.IfSigned, secret("keys", "kyma", pkcs1(ours())))
			err := w.verify(t, signer{}.sign(t, replace(t, descriptV2, digest, c.digest)))
			require.ErrorIs(t, err, signature.ErrSignature)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, `resource "raw-manifest"`)
		})
	}
	t.Run("there is no digest", func(t *testing.T) {
		w := newFixture(t, signature.IfSigned, secret("keys", "kyma", pkcs1(ours())))
		err := w.verify(t, signer{}.sign(t, replace(t, descriptV2, "\n    digest: "+digest, "")))
		require.ErrorIs(t, err, signature.ErrSignature)
		require.ErrorContains(t, err, "has no digest")
	})
	t.Run("an old name of the hash algorithm is accepted", func(t *testing.T) {
		w := newFixture(t, signature.IfSigned, secret("keys", "kyma", pkcs1(ours())))
		require.NoError(t, w.verify(t, signer{}.sign(t, replace(t, descriptV2, "SHA-256", "sha256"))))
	})
}

// Change single bytes (every fifth, to save time): either the descriptor is refused, or the same content would be
// installed.
func TestNoChangedByteChangesWhatIsInstalled(t *testing.T) {
	for name, raw := range map[string]string{"schema v2": descriptV2, "schema v3alpha1": descriptV3} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, signature.Require, secret("keys", "kyma", pkcs1(ours())))
			signed := signer{}.sign(t, raw)
			original := installed(t, signed)
			tried, refused := 0, 0
			for i := 0; i < len(signed); i += 5 {
				tried++
				changed := []byte(signed)
				changed[i] ^= 1
				if err := w.verify(t, string(changed)); err != nil {
					refused++
					continue
				}
				require.Equal(t, original, installed(t, string(changed)), "byte %d of %s", i, changed)
				for _, image := range images(t, string(changed)) {
					require.True(t, strings.HasSuffix(image, "@sha256:"+configHex), "byte %d: image %s is not the signed one", i, image)
				}
			}
			require.Greater(t, refused, tried/2)
		})
	}
}

// An image is pulled by its signed digest, wherever the component was transferred to.
func TestAnImageThatASignatureDoesNotCoverIsRefused(t *testing.T) {
	digest := "\n    digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: ociArtifactDigest/v1, value: " + configHex + "}"
	verify := func(raw string) error {
		return newFixture(t, signature.Require, secret("keys", "kyma", pkcs1(ours()))).verify(t, raw)
	}
	signed := signer{}.sign(t, descriptV2)
	moved := replace(t, signed, "registry.example.com/keda:1.2.3", "elsewhere.example.com/copies/keda:1.2.3")
	require.NoError(t, verify(moved))
	require.Equal(t, []string{"elsewhere.example.com/copies/keda:1.2.3@sha256:" + configHex}, images(t, moved))
	require.Empty(t, images(t, replace(t, signed, "keda:1.2.3", "keda:1.2.3@sha256:"+layerHex)), "another image does not belong to the component")
	for _, excluded := range []string{"", "\n    digest: {hashAlgorithm: NO-DIGEST, normalisationAlgorithm: EXCLUDE-FROM-SIGNATURE, value: NO-DIGEST}"} {
		err := verify(signer{}.sign(t, replace(t, descriptV2, digest, excluded)))
		require.ErrorIs(t, err, signature.ErrSignature)
		require.ErrorContains(t, err, `resource "operator" has no digest of the image`)
	}
}

func images(t *testing.T, raw string) []string {
	t.Helper()
	parsed, err := descriptor.Parse([]byte(raw))
	require.NoError(t, err)
	contents, _ := parsed.Contents()
	return contents.Images
}

// installed returns the identity and content of a descriptor.
func installed(t *testing.T, raw string) []string {
	t.Helper()
	parsed, err := descriptor.Parse([]byte(raw))
	require.NoError(t, err)
	contents, _ := parsed.Contents()
	all := []string{parsed.Component, parsed.Version}
	for _, part := range []*descriptor.Part{&contents.Install, contents.Config, contents.DefaultCR} {
		if part != nil {
			all = append(all, part.Name, string(part.Use), part.Digest)
		}
	}
	return all
}
