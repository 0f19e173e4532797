package main

import (
	"debug/buildinfo"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"
	"github.com/stretchr/testify/require"
)

// minimal is a program that compiles quickly, with one dependency.
var minimal = program{name: "minimal", module: ".", source: ".", stamped: true, title: "Minimal", text: "A minimal program", arguments: []string{"run"}}

var minimalRelease = release{version: "1.2.3", commit: "0123456789abcdef", created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}

var bothPlatforms = []string{"linux/amd64", "linux/arm64"}

// minimalSource returns a new folder with the source of minimal.
func minimalSource(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range map[string]string{
		"go.mod":       "module example.com/minimal\n\ngo 1.26\n\nrequire example.com/other v0.1.0\n\nreplace example.com/other => ./other\n",
		"main.go":      "package main\n\nimport \"example.com/other\"\n\nvar version, commit string\n\nfunc main() { println(version, commit, other.Name) }\n",
		"other/go.mod": "module example.com/other\n\ngo 1.26\n",
		"other/o.go":   "package other\n\nvar Name = \"other\"\n",
	} {
		path = filepath.Join(root, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return root
}

func buildMinimal(t *testing.T, platforms ...string) *built {
	t.Helper()
	b, err := build(t.Context(), minimalSource(t), minimal, platforms, minimalRelease, func(line string) { t.Log(line) })
	require.NoError(t, err)
	return b
}

// filesIn returns the contents of the files below a folder, by path.
func filesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(folder, path))
		found[path] = string(content)
		return err
	}))
	return found
}

func TestImagesAreReproducible(t *testing.T) {
	var layouts []map[string]string
	for range 2 {
		out := filepath.Join(t.TempDir(), "images", "minimal")
		require.NoError(t, buildMinimal(t, bothPlatforms...).writeLayout(out, "1.2.3"))
		layouts = append(layouts, filesIn(t, out))
	}
	require.Equal(t, layouts[0], layouts[1])
}

func TestALayoutHasAnImageForEachPlatformAndItsSBOM(t *testing.T) {
	out := filepath.Join(t.TempDir(), "minimal")
	b := buildMinimal(t, bothPlatforms...)
	require.NoError(t, b.writeLayout(out, "1.2.3"))
	require.NoError(t, b.writeLayout(out, "1.2.3"), "a layout is replaced")

	path, err := layout.FromPath(out)
	require.NoError(t, err)
	index, err := path.ImageIndex()
	require.NoError(t, err)
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 3)
	require.Equal(t, "1.2.3", manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
	images, err := index.ImageIndex(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	require.NoError(t, validate.Index(images))
	listed, err := images.IndexManifest()
	require.NoError(t, err)
	for i, platform := range bothPlatforms {
		require.Equal(t, platform, listed.Manifests[i].Platform.String())
		image, err := images.Image(listed.Manifests[i].Digest)
		require.NoError(t, err)
		config, err := image.ConfigFile()
		require.NoError(t, err)
		require.Equal(t, platform, config.Platform().String())

		attached, err := index.Image(manifest.Manifests[i+1].Digest)
		require.NoError(t, err)
		about, err := attached.Manifest()
		require.NoError(t, err)
		require.Equal(t, listed.Manifests[i].Digest, about.Subject.Digest)
		require.Equal(t, "application/spdx+json", about.ArtifactType)
	}
	own, err := images.Image(listed.Manifests[0].Digest)
	require.NoError(t, err)
	other, err := images.Image(listed.Manifests[1].Digest)
	require.NoError(t, err)
	require.Equal(t, layerOf(t, own, 0), layerOf(t, other, 0), "all platforms share the base layer")
}

func layerOf(t *testing.T, image v1.Image, number int) v1.Hash {
	t.Helper()
	layers, err := image.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 2)
	digest, err := layers[number].Digest()
	require.NoError(t, err)
	return digest
}

func TestOtherFoldersAreNotReplaced(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(out, "precious"), []byte("x"), 0o600))
	require.ErrorContains(t, (&built{}).writeLayout(out, "1"), "is not an image layout")
	require.FileExists(t, filepath.Join(out, "precious"))
}

func TestImageHasLabelsAndRunsAsNonRoot(t *testing.T) {
	b := buildMinimal(t, "linux/"+runtime.GOARCH)
	image := b.platforms[0].image
	file, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "65532:65532", file.Config.User)
	require.Equal(t, []string{"/usr/bin/minimal"}, file.Config.Entrypoint)
	require.Equal(t, []string{"run"}, file.Config.Cmd)
	require.True(t, file.Created.Equal(minimalRelease.created))
	said := map[string]string{
		"org.opencontainers.image.title":       "Minimal",
		"org.opencontainers.image.description": "A minimal program",
		"org.opencontainers.image.version":     "1.2.3",
		"org.opencontainers.image.revision":    "0123456789abcdef",
		"org.opencontainers.image.created":     "2026-01-02T03:04:05Z",
		"org.opencontainers.image.source":      "https://github.com/kyma-project/lifecycle-manager",
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
	require.Equal(t, said, file.Config.Labels)
	manifest, err := image.Manifest()
	require.NoError(t, err)
	require.Equal(t, said, manifest.Annotations)
	require.NotContains(t, labels(minimal, release{commit: unknownCommit}), "org.opencontainers.image.revision", "an unknown commit has no label")
}

func TestOnlyLinuxHasImages(t *testing.T) {
	for _, platform := range []string{"darwin/arm64", "linux", "amd64", "linux/arm/v7", ""} {
		_, err := parsePlatform(platform)
		require.ErrorContains(t, err, `the platform "`+platform+`"`)
	}
}

func TestTheProgramInTheImageKnowsItsVersion(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	b := buildMinimal(t, "linux/"+runtime.GOARCH)
	root := unpack(t, b.platforms[0].image)
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "usr", "bin", "minimal")).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "1.2.3 0123456789abcdef other\n", string(out))
}

// `make fips` runs the lifecycle-manager image built in this way: test/e2e/image_test.go installs modules with it.
func TestAnImageForFIPSHasTheCertifiedModule(t *testing.T) {
	agent, err := findProgram("agent")
	require.NoError(t, err)
	fips := minimalRelease
	fips.fips = true
	b, err := build(t.Context(), filepath.Join("..", ".."), agent, []string{"linux/" + runtime.GOARCH}, fips, func(string) {})
	require.NoError(t, err)
	info, err := buildinfo.ReadFile(filepath.Join(unpack(t, b.platforms[0].image), agent.path()))
	require.NoError(t, err)
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	require.Regexp(t, `^v\d+\.\d+\.\d+`, settings["GOFIPS140"])
	require.Contains(t, settings["DefaultGODEBUG"], "fips140=on")
}

func TestAPushedImageHasItsSBOMsInTheRegistry(t *testing.T) {
	silent := registry.Logger(log.New(io.Discard, "", 0))
	for how, server := range map[string]*httptest.Server{
		"listed by the registry":                     httptest.NewServer(registry.New(silent, registry.WithReferrersSupport(true))),
		"under a tag, if the registry does not list": httptest.NewServer(registry.New(silent)),
	} {
		t.Run(how, func(t *testing.T) {
			defer server.Close()
			target, err := name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/minimal:1.2.3")
			require.NoError(t, err)
			b := buildMinimal(t, bothPlatforms...)
			var said strings.Builder
			require.NoError(t, b.push(t.Context(), target, &said))
			pushed, err := remote.Index(target)
			require.NoError(t, err)
			digest, err := pushed.Digest()
			require.NoError(t, err)
			require.Equal(t, "pushed "+target.String()+"@"+digest.String()+"\n", said.String())

			image, err := remote.Image(target, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "arm64"}))
			require.NoError(t, err)
			require.NoError(t, validate.Image(image))
			digest, err = image.Digest()
			require.NoError(t, err)
			referrers, err := remote.Referrers(target.Context().Digest(digest.String()))
			require.NoError(t, err)
			list, err := referrers.IndexManifest()
			require.NoError(t, err)
			require.Len(t, list.Manifests, 1)
			attached, err := remote.Image(target.Context().Digest(list.Manifests[0].Digest.String()))
			require.NoError(t, err)
			require.Contains(t, packagesOf(t, attached), "example.com/other 1.2.3")
		})
	}
}

// packagesOf validates an SBOM and returns the names and versions in it.
func packagesOf(t *testing.T, attached v1.Image) []string {
	t.Helper()
	layers, err := attached.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	reader, err := layers[0].Compressed()
	require.NoError(t, err)
	defer func() { _ = reader.Close() }()
	document, err := spdxjson.Read(reader)
	require.NoError(t, err)
	require.NoError(t, spdxlib.ValidateDocument(document))
	return namesOf(document)
}

func namesOf(document *spdx.Document) []string {
	var all []string
	for _, p := range document.Packages {
		all = append(all, p.PackageName+" "+p.PackageVersion)
	}
	return all
}

// unpack writes the files of an image into a new folder.
func unpack(t *testing.T, image v1.Image) string {
	t.Helper()
	root := t.TempDir()
	reader := mutate.Extract(image)
	defer func() { _ = reader.Close() }()
	forEach(t, reader, func(path string, mode fs.FileMode, content []byte) {
		path = filepath.Join(root, path)
		if mode.IsDir() {
			require.NoError(t, os.MkdirAll(path, 0o700))
			return
		}
		require.NoError(t, os.WriteFile(path, content, mode.Perm()))
	})
	return root
}
