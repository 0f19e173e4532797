package apply

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// preview renders a layer from a registry in this process.
func preview(t *testing.T, layer []byte, change func(*v1beta2.Manifest)) ([]*unstructured.Unstructured, error) {
	t.Helper()
	sum := sha256.Sum256(layer)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, digest) {
			_, _ = w.Write(layer)
		} else if r.URL.Path != "/v2/" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(registry.Close)
	host := strings.TrimPrefix(registry.URL, "http://")
	store, err := artifacts.New(artifacts.Options{PlainHTTPHosts: []string{host}})
	require.NoError(t, err)
	m := &v1beta2.Manifest{}
	m.Labels = map[string]string{shared.LabelModuleName: "keda"}
	m.Annotations = map[string]string{}
	m.Spec.Install.Source = v1beta2.ImageSpec{Repo: host + "/modules", Name: "keda", Ref: digest, Type: v1beta2.ImageSourceOCIRef}
	if change != nil {
		change(m)
	}
	return Previewer{Artifacts: store, RemoteNamespace: "kyma-system"}.Preview(t.Context(), m)
}

func names(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, u := range objects {
		all = append(all, fmt.Sprintf("%s %s/%s", u.GetKind(), u.GetNamespace(), u.GetName()))
	}
	return all
}

func TestAPreviewHasTheObjectsOfAManifestWithoutACluster(t *testing.T) {
	const layer = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: Namespace
metadata: {name: b, namespace: c}
---
apiVersion: example.com/v1
kind: Own
metadata: {name: d}
---
apiVersion: v1
kind: Pod
metadata: {name: e, namespace: f}
spec: {containers: [{name: a, image: "example.com/a:1"}]}
`
	objects, err := preview(t, []byte(layer), func(m *v1beta2.Manifest) { m.Spec.LocalizedImages = []string{"mirror.example.com/a:1"} })
	require.NoError(t, err)
	require.Equal(t, []string{"ConfigMap kyma-system/a", "Namespace /b", "Own /d", "Pod f/e"}, names(objects))
	require.Contains(t, fmt.Sprint(objects[3].Object), "mirror.example.com/a:1", "images are localized")
	objects, err = preview(t, []byte(layer), func(m *v1beta2.Manifest) { m.Annotations[desired.AnnotationRemoteNamespace] = "other" })
	require.NoError(t, err)
	require.Equal(t, "other", objects[0].GetNamespace())
}

func TestAPreviewOfAChartHasTheCapabilitiesThatHelmAssumes(t *testing.T) {
	chart := zipped(t, map[string]string{
		"keda/Chart.yaml": "{apiVersion: v2, name: keda, version: 1.0.0}",
		"keda/templates/a.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data:
  version: {{ .Capabilities.KubeVersion.Version | quote }}
  apps: {{ .Capabilities.APIVersions.Has "apps/v1" | quote }}
  own: {{ .Capabilities.APIVersions.Has "example.com/v1" | quote }}
`,
	})
	objects, err := preview(t, chart, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"ConfigMap kyma-system/keda"}, names(objects))
	data, _, _ := unstructured.NestedStringMap(objects[0].Object, "data")
	require.Equal(t, "true", data["apps"])
	require.Equal(t, "false", data["own"])
	require.Regexp(t, `^v1\.`, data["version"])
}

func TestALayerThatIsMissingHasNoPreview(t *testing.T) {
	_, err := preview(t, []byte("a"), func(m *v1beta2.Manifest) { m.Spec.Install.Source.Ref = "sha256:" + strings.Repeat("0", 64) })
	require.Error(t, err)
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	archive := &bytes.Buffer{}
	zip := gzip.NewWriter(archive)
	w := tar.NewWriter(zip)
	for name, content := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}))
		_, err := w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zip.Close())
	return archive.Bytes()
}

func TestALayerIsReadFromEitherFormOfItsRepository(t *testing.T) {
	m := &v1beta2.Manifest{}
	m.Annotations = map[string]string{"operator.kyma-project.io/fqdn": "kyma-project.io/module/keda"}
	for _, repo := range []string{"registry.example.com/prod", "registry.example.com/prod/component-descriptors"} {
		image := v1beta2.ImageSpec{Repo: repo, Name: "kyma-project.io/module/keda", Ref: "sha256:1", Type: v1beta2.ImageSourceOCIRef}
		m.Spec.Install.Source, m.Spec.Config = image, &image
		source := sourceOf(m, "kyma-system")
		require.Equal(t, "registry.example.com/prod/component-descriptors", source.Install.Repository)
		require.Equal(t, source.Install, *source.Config)
	}
}
