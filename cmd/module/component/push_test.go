package component_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/cmd/module/component"
	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
)

func newRegistry(t *testing.T) (address string) {
	t.Helper()
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
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "kind: ConfigMap\n", string(body))

	text, err := outcome.Descriptor.JSON()
	require.NoError(t, err)
	t.Log(string(text))
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

func TestPushRefusesOtherContentForAVersionUnlessTold(t *testing.T) {
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
