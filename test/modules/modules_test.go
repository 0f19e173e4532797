package main

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/cmd/module/component"
	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
	"github.com/kyma-project/lifecycle-manager/cmd/module/lint"
	"github.com/kyma-project/lifecycle-manager/cmd/module/ship"
)

func newOptions(t *testing.T) options {
	t.Helper()
	component.LogErrorsOnly()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return options{
		here: ".", out: t.TempDir(),
		registry: component.Registry{Address: strings.TrimPrefix(server.URL, "http://"), PlainHTTP: true},
	}
}

func read[T any](t *testing.T, path string) T {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var resource T
	require.NoError(t, yaml.UnmarshalStrict(data, &resource))
	return resource
}

func TestAllModulesArePushedAndPushedAgainWithoutChange(t *testing.T) {
	given := newOptions(t)
	var first, second bytes.Buffer
	require.NoError(t, pushAll(t.Context(), given, &first))
	require.Equal(t, 5, strings.Count(first.String(), " pushed "), first.String())
	require.NoError(t, pushAll(t.Context(), given, &second))
	require.Equal(t, 5, strings.Count(second.String(), " already there "), second.String())

	files, err := filepath.Glob(filepath.Join(given.out, "*.yaml"))
	require.NoError(t, err)
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	require.Equal(t, []string{
		"modulereleasemeta-cert-manager.yaml",
		"modulereleasemeta-metrics-server.yaml",
		"modulereleasemeta-prometheus-operator.yaml",
		"modulereleasemeta-sample.yaml",
		"moduletemplate-cert-manager-1.21.2.yaml",
		"moduletemplate-metrics-server-0.9.0.yaml",
		"moduletemplate-prometheus-operator-0.85.0.yaml",
		"moduletemplate-sample-1.0.0.yaml",
		"moduletemplate-sample-1.1.0.yaml",
	}, files)
	release := read[v1beta2.ModuleReleaseMeta](t, filepath.Join(given.out, "modulereleasemeta-sample.yaml"))
	require.Equal(t, []v1beta2.ChannelVersion{
		{Channel: "regular", Version: "1.0.0"}, {Channel: "fast", Version: "1.1.0"},
	}, release.Spec.Channels)
}

func TestModulesHaveNothingToWarnOf(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, lintAll(t.Context(), ".", ship.DefaultKubeVersion, nil, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, len(catalog()), out.String())
	for _, line := range lines {
		require.Contains(t, line, "no errors")
	}
}

func TestAModuleWithFindingsIsNotPassed(t *testing.T) {
	require.ErrorIs(t, lintAll(t.Context(), ".", "next", []string{"sample/1.0.0"}, io.Discard), lint.ErrFindings)
}

func TestModuleVersionsAreThoseOfTheirSources(t *testing.T) {
	for _, module := range catalog() {
		if module.goModule == "" {
			continue
		}
		found, err := download(t.Context(), "upstream", module.goModule)
		require.NoError(t, err)
		configured, err := config.Load(module.folder)
		require.NoError(t, err)
		require.Equal(t, strings.TrimPrefix(found.Version, "v"), configured.Version, module.folder)
	}
}

// In the repository cert-manager's chart has the tag v0.0.0 for all its images.
func TestCertManagersImagesHaveItsVersion(t *testing.T) {
	module, err := chosen(catalog(), []string{"cert-manager"})
	require.NoError(t, err)
	folder, err := assemble(t.Context(), ".", module[0], t.TempDir())
	require.NoError(t, err)
	configured, err := config.Load(folder)
	require.NoError(t, err)
	content, err := layers.Read(configured)
	require.NoError(t, err)
	values, err := chartutil.ToRenderValues(content.Chart, content.Values, chartutil.ReleaseOptions{Name: "cert-manager"}, chartutil.DefaultCapabilities)
	require.NoError(t, err)
	rendered, err := engine.Render(content.Chart, values)
	require.NoError(t, err)

	images := map[string]bool{}
	for _, text := range rendered {
		for _, image := range regexp.MustCompile(`quay\.io/jetstack/[^\s"]+`).FindAllString(text, -1) {
			images[image] = true
		}
	}
	require.Equal(t, map[string]bool{
		"quay.io/jetstack/cert-manager-acmesolver:v1.21.2":      true,
		"quay.io/jetstack/cert-manager-cainjector:v1.21.2":      true,
		"quay.io/jetstack/cert-manager-controller:v1.21.2":      true,
		"quay.io/jetstack/cert-manager-startupapicheck:v1.21.2": true,
		"quay.io/jetstack/cert-manager-webhook:v1.21.2":         true,
	}, images)
}

func TestContentThatIsNotWhatGoSumPinsIsRefused(t *testing.T) {
	pinned := t.TempDir()
	require.NoError(t, os.CopyFS(pinned, os.DirFS("upstream")))
	path := filepath.Join(pinned, "go.sum")
	sums, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.Replace(sums, []byte("metrics-server v0.9.0 h1:n"), []byte("metrics-server v0.9.0 h1:m"), 1), 0o600))

	_, err = download(t.Context(), pinned, "sigs.k8s.io/metrics-server")
	require.ErrorContains(t, err, "checksum mismatch")
}

func TestOnlyNamedModulesAreChosen(t *testing.T) {
	for name, test := range map[string]struct {
		names   []string
		folders []string
	}{
		"all without a name":        {nil, []string{"sample/1.0.0", "sample/1.1.0", "cert-manager", "prometheus-operator", "metrics-server"}},
		"every version of a module": {[]string{"sample"}, []string{"sample/1.0.0", "sample/1.1.0"}},
		"one version of a module":   {[]string{"sample/1.1.0", "metrics-server"}, []string{"sample/1.1.0", "metrics-server"}},
	} {
		t.Run(name, func(t *testing.T) {
			some, err := chosen(catalog(), test.names)
			require.NoError(t, err)
			var folders []string
			for _, module := range some {
				folders = append(folders, module.folder)
			}
			require.Equal(t, test.folders, folders)
		})
	}
	_, err := chosen(catalog(), []string{"nonesuch"})
	require.ErrorIs(t, err, errUnknownModule)
}
