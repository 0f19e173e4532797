package command_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// modulectlConfig has all fields that modulectl has ever had.
const modulectlConfig = `
name: kyma-project.io/module/widget
version: 1.2.3
channel: fast
manifest: ADDRESS/widget.yaml
defaultCR: ADDRESS/default-cr.yaml
repository: https://github.com/example/widget
documentation: https://example.com/widget
icons:
- {name: module-icon, link: "https://example.com/icon.svg"}
resources:
  notes: https://example.com/notes
labels: {team: a}
annotations: {note: b}
manager: {name: widget, namespace: kyma-system, group: apps, version: v1, kind: Deployment}
associatedResources:
- {group: example.com, version: v1, kind: Widget}
requiresDowntime: true
internal: true
beta: true
mandatory: false
namespace: kcp-system
team: kyma/widget
security: sec-scanners-config.yaml
securityScanEnabled: true
resourceName: widget-fast
`

const modulectlManifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: widget, namespace: kyma-system}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "a:v1"}]}}
---
`

// modulectlModule returns a folder with a modulectl configuration. The files of the module are on an HTTP server.
func modulectlModule(t *testing.T) (folder string) {
	t.Helper()
	definition, err := testdata.ReadFile("testdata/widget/manifest/crd.yaml")
	require.NoError(t, err)
	files := http.NewServeMux()
	serve := func(path, content string) {
		files.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(content)) })
	}
	serve("/widget.yaml", modulectlManifest+string(definition))
	serve("/default-cr.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: default}\n")
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	folder = t.TempDir()
	config := strings.ReplaceAll(modulectlConfig, "ADDRESS", server.URL)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "module-config.yaml"), []byte(config), 0o600))
	return folder
}

func TestPushWithModulectlConfiguration(t *testing.T) {
	folder := modulectlModule(t)
	got := module(t, "push", folder, "--registry", newRegistry(t), "--plain-http")
	require.Equal(t, 0, got.code, got.err)
	documents := strings.Split(strings.TrimPrefix(got.out, "---\n"), "---\n")
	require.Len(t, documents, 2, got.out)
	var template v1beta2.ModuleTemplate
	require.NoError(t, yaml.UnmarshalStrict([]byte(documents[0]), &template))
	require.Equal(t, "widget-1.2.3", template.Name)
	require.Equal(t, "widget", template.Spec.ModuleName)
	require.Equal(t, "true", template.Annotations["operator.kyma-project.io/is-cluster-scoped"], "as in its CustomResourceDefinition")
	require.Equal(t, "a", template.Labels["team"])
	require.Equal(t, "b", template.Annotations["note"])
	require.Equal(t, "true", template.Labels["operator.kyma-project.io/beta"])
	require.Equal(t, "true", template.Labels["operator.kyma-project.io/internal"])
	require.True(t, template.Spec.RequiresDowntime)
	require.Equal(t, "widget", template.Spec.Manager.Name)
	require.Len(t, template.Spec.AssociatedResources, 1)
	require.Equal(t, "https://github.com/example/widget", template.Spec.Info.Repository)
	require.Equal(t, "https://example.com/widget", template.Spec.Info.Documentation)
	require.Equal(t, []v1beta2.ModuleIcon{{Name: "module-icon", Link: "https://example.com/icon.svg"}}, template.Spec.Info.Icons)
	require.Equal(t, "notes", template.Spec.Resources[0].Name)
	require.Equal(t, "raw-manifest", template.Spec.Resources[1].Name)
	require.Contains(t, documents[1], "channel: fast")

	for _, field := range []string{"team", "security", "securityScanEnabled", "resourceName"} {
		require.Contains(t, got.err, "module-config.yaml: "+field+": is ignored")
	}
	require.Contains(t, got.err, "manifest: is fetched without TLS")
}

func TestErrorsNameModulectlFields(t *testing.T) {
	for name, test := range map[string]struct{ old, with, want string }{
		"a misspelt field":      {"documentation:", "Documentation:", `unknown field "Documentation"`},
		"a name without a path": {"kyma-project.io/module/widget", "Widget", `module-config.yaml: name: "Widget"`},
		"a wrong channel":       {"channel: fast", "channel: none", "module-config.yaml: channel: "},
		"a wrong address":       {"repository: https://github.com/example/widget", "repository: widget", `module-config.yaml: repository: "widget" is not a URL`},
		"a missing file":        {"/widget.yaml", "/nowhere.yaml", "nowhere.yaml: 404 Not Found"},
		"icons in another form": {`- {name: module-icon, link: "https://example.com/icon.svg"}`, "  3", "must be a list of entries with name and link, or a map"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := modulectlModule(t)
			edit(t, filepath.Join(folder, "module-config.yaml"), test.old, test.with)
			got := module(t, "lint", folder)
			require.Equal(t, 1, got.code)
			require.Contains(t, got.out+got.err, test.want)
		})
	}
}

func TestOwnConfigurationIsNotReadAsModulectl(t *testing.T) {
	folder := copyOf(t, "testdata/widget")
	edit(t, filepath.Join(folder, "module-config.yaml"), "channels: [regular]", "repository: https://example.com")
	got := module(t, "lint", folder)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, `unknown field "repository"`)
}
