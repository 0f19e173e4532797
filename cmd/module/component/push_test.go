package component_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"
	"ocm.software/ocm/api/datacontext"
	metav1 "ocm.software/ocm/api/ocm/compdesc/meta/v1"
	"ocm.software/ocm/api/ocm/cpi"
	"ocm.software/ocm/api/ocm/extensions/repositories/ocireg"

	"github.com/kyma-project/lifecycle-manager/cmd/module/component"
	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor/descriptortest"
)

func newRegistry(t *testing.T) (address string) {
	t.Helper()
	component.LogErrorsOnly()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func sample(manifest string) component.Version {
	return component.Version{
		Name: "kyma-project.io/module/sample", Version: "1.0.0", Provider: "kyma-project.io",
		Layers: []layers.Layer{
			{Name: "raw-manifest", Type: "raw-manifest", MediaType: "application/x-yaml", Data: []byte(manifest)},
			{Name: "default-cr", Type: "default-cr", MediaType: "application/x-yaml", Data: []byte("kind: Sample\n")},
		},
	}
}

func TestPushedLayersAreBlobsBesideTheDescriptor(t *testing.T) {
	address := newRegistry(t)
	target := component.Registry{Address: address + "/sub/path", PlainHTTP: true}

	outcome, err := target.Push(sample("kind: ConfigMap\n"), false)
	require.NoError(t, err)
	require.True(t, outcome.Written)

	digests, err := outcome.Descriptor.ResourceDigests()
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"raw-manifest": "sha256:bb6c7fb1ce4b8ac8baa8f6344623dd4602cf3d6ce859f9ff859a5a43787c5987",
		"default-cr":   "sha256:3526ec5f252c3894d8f82b8b860708bd9457e21ae646390363f24e5e3f9ee8d5",
	}, digests)

	response, err := http.Get("http://" + address + "/v2/sub/path/component-descriptors/kyma-project.io/module/sample/blobs/" + digests["raw-manifest"])
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "kind: ConfigMap\n", string(body))

}

// Readers of descriptors are written against the example.
func TestDescriptorMatchesTheExample(t *testing.T) {
	address := newRegistry(t)
	outcome, err := component.Registry{Address: address + "/modules", PlainHTTP: true}.Push(sample("kind: ConfigMap\n"), false)
	require.NoError(t, err)
	got, err := outcome.Descriptor.JSON()
	require.NoError(t, err)

	require.JSONEq(t, string(descriptortest.Example), strings.ReplaceAll(string(got), address, "127.0.0.1:5000"))
}

func TestDescriptorOfAPlainAddressHasNoSubPath(t *testing.T) {
	address := newRegistry(t)
	outcome, err := component.Registry{Address: address, PlainHTTP: true}.Push(sample("kind: ConfigMap\n"), false)
	require.NoError(t, err)
	got, err := outcome.Descriptor.JSON()
	require.NoError(t, err)
	require.Contains(t, string(got), `"repositoryContexts":[{"baseUrl":"http://`+address+`","componentNameMapping":"urlPath","type":"OCIRegistry"}]`)
}

func TestPushingTheSameContentAgainWritesNothing(t *testing.T) {
	target := component.Registry{Address: newRegistry(t), PlainHTTP: true}
	first, err := target.Push(sample("kind: ConfigMap\n"), false)
	require.NoError(t, err)

	second, err := target.Push(sample("kind: ConfigMap\n"), false)
	require.NoError(t, err)
	require.False(t, second.Written)
	require.Equal(t, first.Descriptor, second.Descriptor)
}

func TestPushOfASignedVersionAgainKeepsTheSignature(t *testing.T) {
	target := component.Registry{Address: newRegistry(t), PlainHTTP: true}
	_, err := target.Push(sample("kind: ConfigMap\n"), false)
	require.NoError(t, err)
	octx := cpi.New(datacontext.MODE_EXTENDED)
	repository, err := octx.RepositoryForSpec(ocireg.NewRepositorySpec("http://" + target.Address))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, repository.Close()) })
	stored, err := repository.LookupComponentVersion("kyma-project.io/module/sample", "1.0.0")
	require.NoError(t, err)
	stored.GetDescriptor().Signatures = metav1.Signatures{{
		Name:      "releases",
		Digest:    metav1.DigestSpec{HashAlgorithm: "SHA-256", NormalisationAlgorithm: "jsonNormalisation/v3", Value: "00"},
		Signature: metav1.SignatureSpec{Algorithm: "RSASSA-PSS", Value: "00", MediaType: "application/vnd.ocm.signature.rsa"},
	}}
	require.NoError(t, stored.Update())
	require.NoError(t, stored.Close())

	outcome, err := target.Push(sample("kind: ConfigMap\n"), false)
	require.NoError(t, err)
	require.False(t, outcome.Written)
	text, err := outcome.Descriptor.JSON()
	require.NoError(t, err)
	require.Contains(t, string(text), `"name":"releases"`)
}

func TestPushWithLogin(t *testing.T) {
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, ok := r.BasicAuth(); !ok || name != "ci" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	target := component.Registry{Address: strings.TrimPrefix(server.URL, "http://"), PlainHTTP: true}

	_, err := target.Push(sample("kind: ConfigMap\n"), false)
	require.ErrorContains(t, err, "read registry "+target.Address)
	target.Username, target.Password = "ci", "wrong"
	_, err = target.Push(sample("kind: ConfigMap\n"), false)
	require.ErrorContains(t, err, "read registry "+target.Address)
	require.NotContains(t, err.Error(), "wrong")

	target.Username, target.Password = "ci", "secret"
	outcome, err := target.Push(sample("kind: ConfigMap\n"), false)
	require.NoError(t, err)
	require.True(t, outcome.Written)
}

func TestErrorNamesAnUnreachableRegistry(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := strings.TrimPrefix(server.URL, "http://")
	server.Close()
	_, err := component.Registry{Address: address, PlainHTTP: true}.Push(sample("kind: ConfigMap\n"), false)
	require.ErrorContains(t, err, "registry "+address)
}

func TestArchiveHoldsTheSameBlobsAsARegistry(t *testing.T) {
	pushed, err := component.Registry{Address: newRegistry(t), PlainHTTP: true}.Push(sample("kind: ConfigMap\n"), false)
	require.NoError(t, err)
	fromRegistry, err := pushed.Descriptor.ResourceDigests()
	require.NoError(t, err)

	path := filepath.Join(t.TempDir(), "archive")
	written, err := component.WriteArchive(path, sample("kind: ConfigMap\n"))
	require.NoError(t, err)
	fromArchive, err := written.ResourceDigests()
	require.NoError(t, err)
	require.Equal(t, fromRegistry, fromArchive)

	blob := strings.Replace(fromArchive["raw-manifest"], ":", ".", 1)
	data, err := os.ReadFile(filepath.Join(path, "blobs", blob))
	require.NoError(t, err)
	require.Equal(t, "kind: ConfigMap\n", string(data))
}

func TestPushRefusesDifferentContentWithoutOverwrite(t *testing.T) {
	target := component.Registry{Address: newRegistry(t), PlainHTTP: true}
	_, err := target.Push(sample("kind: ConfigMap\n"), false)
	require.NoError(t, err)

	_, err = target.Push(sample("kind: Secret\n"), false)
	require.ErrorIs(t, err, component.ErrVersionExists)
	require.ErrorContains(t, err, "resource raw-manifest differs")

	outcome, err := target.Push(sample("kind: Secret\n"), true)
	require.NoError(t, err)
	require.True(t, outcome.Written)

	again, err := target.Push(sample("kind: Secret\n"), false)
	require.NoError(t, err)
	require.False(t, again.Written)
}
