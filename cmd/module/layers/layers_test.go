package layers_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/cmd/module/config"
	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
)

// folder writes a module's folder and loads its configuration.
func folder(t *testing.T, files map[string]string) config.Module {
	t.Helper()
	path := t.TempDir()
	for name, content := range files {
		full := filepath.Join(path, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, []byte(content), 0o600))
		old := time.Now().Add(-time.Duration(len(name)) * time.Hour)
		require.NoError(t, os.Chtimes(full, old, old))
	}
	module, err := config.Load(path)
	require.NoError(t, err)
	return module
}

type packed struct {
	name, content string
	modified      int64
}

func unpack(t *testing.T, data []byte) (files []packed) {
	t.Helper()
	reader := tar.NewReader(bytes.NewReader(data))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		files = append(files, packed{header.Name, string(content), header.ModTime.Unix()})
	}
}

func TestSingleFileIsShippedUnchanged(t *testing.T) {
	content, err := layers.Read(folder(t, map[string]string{
		"module-config.yaml": "manifest: all.yaml\n", "all.yaml": "# comment\nkind: A\n",
	}))
	require.NoError(t, err)
	require.Equal(t, []layers.Layer{{
		Name: "raw-manifest", Type: "raw-manifest", MediaType: "application/x-yaml", Data: []byte("# comment\nkind: A\n"),
	}}, content.Layers)
}

func TestDirectoryBecomesASortedArchiveOfManifests(t *testing.T) {
	files := map[string]string{
		"module-config.yaml": "manifest: manifest\n",
		"manifest/b.yaml":    "kind: B\n",
		"manifest/a/z.yml":   "kind: Z\n",
		"manifest/c.json":    "{}",
		"manifest/README.md": "not shipped",
	}
	content, err := layers.Read(folder(t, files))
	require.NoError(t, err)
	require.Len(t, content.Layers, 1)
	require.Equal(t, "application/x-tar", content.Layers[0].MediaType)
	require.Equal(t, []packed{
		{"a/z.yml", "kind: Z\n", 0}, {"b.yaml", "kind: B\n", 0}, {"c.json", "{}", 0},
	}, unpack(t, content.Layers[0].Data))

	again, err := layers.Read(folder(t, files))
	require.NoError(t, err)
	require.Equal(t, content.Layers, again.Layers)
}

func TestListOfFilesBecomesASortedArchive(t *testing.T) {
	one, err := layers.Read(folder(t, map[string]string{
		"module-config.yaml": "manifest: [x/b.yaml, a.yaml]\n", "x/b.yaml": "kind: B\n", "a.yaml": "kind: A\n",
	}))
	require.NoError(t, err)
	require.Equal(t, []packed{{"a.yaml", "kind: A\n", 0}, {"x/b.yaml", "kind: B\n", 0}}, unpack(t, one.Layers[0].Data))

	other, err := layers.Read(folder(t, map[string]string{
		"module-config.yaml": "manifest: [a.yaml, ./x/b.yaml]\n", "x/b.yaml": "kind: B\n", "a.yaml": "kind: A\n",
	}))
	require.NoError(t, err)
	require.Equal(t, one.Layers, other.Layers)
}

func TestTwoFilesWithTheSameNameAreRefused(t *testing.T) {
	_, err := layers.Read(folder(t, map[string]string{
		"module-config.yaml": "manifest: [a.yaml, ./a.yaml]\n", "a.yaml": "kind: A\n",
	}))
	require.ErrorIs(t, err, layers.ErrInput)
	require.ErrorContains(t, err, "two files are named a.yaml")
}

func TestChartFolderIsPackedWithoutIgnoredFiles(t *testing.T) {
	files := map[string]string{
		"module-config.yaml":           "chart: my-chart\nvalues: values.yaml\ndefaultCR: cr.yaml\n",
		"values.yaml":                  "a: 1\n",
		"cr.yaml":                      "kind: A\n",
		"my-chart/Chart.yaml":          "apiVersion: v2\nname: upstream\nversion: 1.0.0\n",
		"my-chart/templates/a":         "x",
		"my-chart/.helmignore":         "secret\n",
		"my-chart/secret":              "s",
		"my-chart/charts/b/Chart.yaml": "apiVersion: v2\nname: b\nversion: 1.0.0\n",
	}
	content, err := layers.Read(folder(t, files))
	require.NoError(t, err)
	require.Len(t, content.Layers, 3)
	require.Equal(t, layers.Layer{
		Name: "config", Type: "yaml", MediaType: "application/x-yaml", Data: []byte("a: 1\n"),
	}, content.Layers[1])
	require.Equal(t, layers.Layer{
		Name: "default-cr", Type: "default-cr", MediaType: "application/x-yaml", Data: []byte("kind: A\n"),
	}, content.Layers[2])

	chart := content.Layers[0]
	require.Equal(t, "helm-chart", chart.Name)
	require.Equal(t, "helm-chart", chart.Type)
	require.Equal(t, "application/vnd.cncf.helm.chart.content.v1.tar+gzip", chart.MediaType)
	plain, err := gzip.NewReader(bytes.NewReader(chart.Data))
	require.NoError(t, err)
	data, err := io.ReadAll(plain)
	require.NoError(t, err)
	var names []string
	for _, file := range unpack(t, data) {
		require.Zero(t, file.modified)
		names = append(names, file.name)
	}
	require.Equal(t, []string{
		"upstream/.helmignore", "upstream/Chart.yaml", "upstream/charts/b/Chart.yaml", "upstream/templates/a",
	}, names)

	again, err := layers.Read(folder(t, files))
	require.NoError(t, err)
	require.Equal(t, chart, again.Layers[0])
}

func TestAChartArchiveIsShippedByteForByte(t *testing.T) {
	packedChart, err := layers.Read(folder(t, map[string]string{
		"module-config.yaml": "chart: c\n", "c/Chart.yaml": "apiVersion: v2\nname: upstream\nversion: 1.0.0\n",
	}))
	require.NoError(t, err)
	content, err := layers.Read(folder(t, map[string]string{
		"module-config.yaml": "chart: c.tgz\n", "c.tgz": string(packedChart.Layers[0].Data),
	}))
	require.NoError(t, err)
	require.Equal(t, packedChart.Layers, content.Layers)
	require.Equal(t, "upstream", content.Chart.Name())
}
