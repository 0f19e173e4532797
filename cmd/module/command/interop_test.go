package command_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"ocm.software/ocm/api/datacontext"
	"ocm.software/ocm/api/ocm/compdesc"
	"ocm.software/ocm/api/ocm/cpi"
	"ocm.software/ocm/api/ocm/extensions/repositories/ocireg"
	"ocm.software/ocm/api/tech/signing"
	rsahandler "ocm.software/ocm/api/tech/signing/handlers/rsa"
	psshandler "ocm.software/ocm/api/tech/signing/handlers/rsa-pss"
	"ocm.software/ocm/api/tech/signing/hasher/sha256"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Other tools sign and verify with the OCM library. The server must accept their signatures, and they must be able to
// verify ours. These tests use the library's own registry of algorithms and the component version in the registry.

func TestServerAcceptsSignaturesOfTheOCMLibrary(t *testing.T) {
	for _, algorithm := range []string{rsahandler.Algorithm, psshandler.Algorithm} {
		t.Run(algorithm, func(t *testing.T) {
			address := newRegistry(t)
			pushed := module(t, "push", "testdata/widget", "--registry", address, "--plain-http")
			require.Equal(t, 0, pushed.code, pushed.err)
			template := templateOf(t, first(pushed.out))
			private, public, err := rsahandler.CreateKeyPair()
			require.NoError(t, err)
			encodedKey, err := rsahandler.KeyData(public)
			require.NoError(t, err)

			version := stored(t, address, template)
			signer := signing.DefaultRegistry().GetSigner(algorithm)
			require.NoError(t, compdesc.Sign(version.GetContext().CredentialsContext(), version.GetDescriptor(), private, signer,
				sha256.Handler{}, "releases", "CN=releases"))
			require.NoError(t, version.Update())

			raw, err := compdesc.Encode(stored(t, address, template).GetDescriptor(), compdesc.DefaultJSONCodec)
			require.NoError(t, err)
			template.Spec.Descriptor.Raw = raw
			template.Labels[shared.LabelSignature] = "releases"
			printed, err := yaml.Marshal(template)
			require.NoError(t, err)
			requireAccepted(t, string(printed), encodedKey)
		})
	}
}

func TestOCMLibraryVerifiesOurSignatures(t *testing.T) {
	for _, algorithm := range []string{"rsa-pkcs1v15", "rsassa-pss"} {
		t.Run(algorithm, func(t *testing.T) {
			address := newRegistry(t)
			file, public := keyFile(t, false)
			pushed := module(t, "push", "testdata/widget", "--registry", address, "--plain-http",
				"--sign-key", file, "--signature-name", "releases", "--signature-algorithm", algorithm)
			require.Equal(t, 0, pushed.code, pushed.err)
			descriptor := stored(t, address, templateOf(t, first(pushed.out))).GetDescriptor()
			require.NoError(t, verifyWith(descriptor, public))

			_, other := keyFile(t, false)
			require.Error(t, verifyWith(descriptor, other), "another key must not verify")
			descriptor.Resources[0].Digest.Value = "00"
			require.Error(t, verifyWith(descriptor, public), "a changed descriptor must not verify")
		})
	}
}

func verifyWith(descriptor *compdesc.ComponentDescriptor, public []byte) error {
	registry := signing.NewRegistry(signing.DefaultHandlerRegistry(), signing.NewKeyRegistry())
	registry.RegisterPublicKey("releases", public)
	return compdesc.Verify(descriptor, registry, "releases")
}

// stored opens the pushed component version of a ModuleTemplate with the OCM library.
func stored(t *testing.T, address string, template v1beta2.ModuleTemplate) cpi.ComponentVersionAccess {
	t.Helper()
	described, err := compdesc.Decode(template.Spec.Descriptor.Raw)
	require.NoError(t, err)
	repository, err := cpi.New(datacontext.MODE_EXTENDED).RepositoryForSpec(ocireg.NewRepositorySpec("http://" + address))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, repository.Close()) })
	version, err := repository.LookupComponentVersion(described.GetName(), described.GetVersion())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, version.Close()) })
	return version
}

func templateOf(t *testing.T, printed string) v1beta2.ModuleTemplate {
	t.Helper()
	var template v1beta2.ModuleTemplate
	require.NoError(t, yaml.Unmarshal([]byte(printed), &template))
	return template
}
