package descriptor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlaceReturnsTheLocationOfTheBlobs(t *testing.T) {
	for _, test := range []struct {
		name                string
		context             map[string]any
		repository          string
		wantRepo, wantNames string
	}{
		{"by the path of its name", map[string]any{"baseUrl": "registry.example.com", "componentNameMapping": "urlPath"}, "",
			"registry.example.com/component-descriptors", "kyma-project.io/module/keda"},
		{"without a mapping", map[string]any{"baseUrl": "https://registry.example.com:5000/"}, "",
			"registry.example.com:5000/component-descriptors", "kyma-project.io/module/keda"},
		{"below a path of the base URL and a sub path", map[string]any{"baseUrl": "registry.example.com/prod", "subPath": "/modules/"}, "",
			"registry.example.com/prod/modules/component-descriptors", "kyma-project.io/module/keda"},
		{"by the digest of its name", map[string]any{"baseUrl": "registry.example.com", "subPath": "modules", "componentNameMapping": "sha256-digest"}, "",
			"registry.example.com/modules", "4be1439ff005799f5a23dc8f82f371dd715d0c75170d9474e4b366b761e69520"},
		{"after a transfer, whatever the descriptor says", map[string]any{"baseUrl": "registry.example.com", "componentNameMapping": "sha256-digest"}, "mirror.example.com/kyma",
			"mirror.example.com/kyma/component-descriptors", "kyma-project.io/module/keda"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.context["type"] = "ociRegistry"
			d, err := Parse(with(t, fileV2, "component.repositoryContexts", []any{test.context}))
			require.NoError(t, err)
			repo, name := d.Place(test.repository)
			require.Equal(t, test.wantRepo, repo)
			require.Equal(t, test.wantNames, name)
		})
	}
	d, err := Parse(with(t, fileV2, "component.repositoryContexts", []any{}))
	require.NoError(t, err)
	repo, name := d.Place("")
	require.Empty(t, repo+name)
}

func TestTheRepositoryInAManifestIsInUpstreamsForm(t *testing.T) {
	const component = "kyma-project.io/module/keda"
	for _, test := range []struct{ name, repo, of, inManifest, also string }{
		{"below the components", "registry.example.com/prod/component-descriptors", component, "registry.example.com/prod", "registry.example.com/prod/"},
		{"of a host alone", "registry.example.com:5000/component-descriptors", component, "registry.example.com:5000", "registry.example.com:5000/component-descriptors"},
		{"with a scheme", "http://registry.example.com/component-descriptors", component, "http://registry.example.com", "http://registry.example.com/component-descriptors"},
		{"with a path that ends alike", "registry.example.com/component-descriptors/component-descriptors", component, "registry.example.com/component-descriptors/component-descriptors", ""},
		{"of a name that is a digest", "registry.example.com/modules", "4be1439ff005799f5a23dc8f82f371dd715d0c75170d9474e4b366b761e69520", "registry.example.com/modules", "registry.example.com/modules/"},
		{"of a blob elsewhere", "ghcr.io/org", "blobs", "ghcr.io/org", ""},
		{"of a blob elsewhere, in a folder of that name", "ghcr.io/component-descriptors", "blobs", "ghcr.io/component-descriptors", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			written := InManifest(test.repo, test.of, component)
			require.Equal(t, test.inManifest, written)
			require.Equal(t, test.repo, FromManifest(written, test.of, component))
			if test.also != "" {
				require.Equal(t, test.repo, FromManifest(test.also, test.of, component))
			}
		})
	}
}

func TestBlobReturnsDigestAndRepository(t *testing.T) {
	one, two := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	elsewhere := &Access{Type: "ociBlob", Digest: two, Reference: "ghcr.io/org/blobs"}
	for name, test := range map[string]struct {
		access             Access
		digest, repository string
	}{
		"localOciBlob":                 {Access{Type: "localOciBlob", Digest: one}, one, ""},
		"localBlob":                    {Access{Type: "localBlob/v1", LocalReference: one}, one, ""},
		"localBlob with global access": {Access{Type: "localBlob", LocalReference: one, GlobalAccess: elsewhere}, one, ""},
		"localBlob with that alone":    {Access{Type: "localBlob", LocalReference: "file.yaml", GlobalAccess: elsewhere}, two, "ghcr.io/org/blobs"},
		"localBlob with neither":       {Access{Type: "localBlob", LocalReference: "file.yaml", GlobalAccess: &Access{Type: "s3"}}, "file.yaml", ""},
		"localBlob in itself":          {Access{Type: "localBlob", LocalReference: "file.yaml", GlobalAccess: &Access{Type: "localBlob", LocalReference: two}}, "file.yaml", ""},
		"ociBlob":                      {Access{Type: "OCIBlob", Digest: one, Reference: "ghcr.io/org/blobs@" + one}, one, "ghcr.io/org/blobs"},
		"ociArtifact":                  {Access{Type: "ociArtifact/v1", ImageReference: "ghcr.io:443/org/chart:1.0.0@" + one}, one, "ghcr.io:443/org/chart"},
		"ociArtifact by digest only":   {Access{Type: "ociArtifact", ImageReference: "ghcr.io:443/org/chart@" + one}, one, "ghcr.io:443/org/chart"},
		"ociArtifact by tag only":      {Access{Type: "ociArtifact", ImageReference: "ghcr.io/org/chart:1.0.0"}, "", "ghcr.io/org/chart"},
		"an unsupported access":        {Access{Type: "s3"}, "", ""},
	} {
		digest, repository := test.access.Blob()
		require.Equal(t, test.digest, digest, name)
		require.Equal(t, test.repository, repository, name)
	}
}
