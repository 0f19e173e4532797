package main

import (
	"archive/tar"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/stretchr/testify/require"
)

// forEach calls do for each entry of an archive.
func forEach(t *testing.T, archive io.Reader, do func(path string, mode fs.FileMode, content []byte)) {
	t.Helper()
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		do(header.Name, header.FileInfo().Mode(), content)
	}
}

func TestBaseLayerContent(t *testing.T) {
	root, err := goRoot(t.Context())
	require.NoError(t, err)
	files, err := baseFiles(root)
	require.NoError(t, err)
	layer, err := newLayer(files)
	require.NoError(t, err)
	image, err := mutate.AppendLayers(empty.Image, layer)
	require.NoError(t, err)
	reader := mutate.Extract(image)
	defer func() { _ = reader.Close() }()

	contents, modes := map[string][]byte{}, map[string]fs.FileMode{}
	forEach(t, reader, func(path string, mode fs.FileMode, content []byte) { contents[path], modes[path] = content, mode })

	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(contents["etc/ssl/certs/ca-certificates.crt"]))
	require.Greater(t, len(pool.Subjects()), 100) //nolint:staticcheck // it is not the system's pool

	berlin, err := time.LoadLocationFromTZData("Europe/Berlin", contents["usr/share/zoneinfo/Europe/Berlin"])
	require.NoError(t, err)
	require.Equal(t, "CEST", firstOf(time.Date(2026, 7, 1, 0, 0, 0, 0, berlin).Zone()))

	require.Contains(t, string(contents["etc/passwd"]), "nonroot:x:65532:65532:")
	require.Equal(t, fs.ModeDir|fs.ModeSticky|0o777, modes["tmp"])
	for path, mode := range modes {
		if path != "tmp" {
			require.Zero(t, mode.Perm()&0o022, "others could write %s", path)
		}
	}
}

func firstOf(zone string, _ int) string { return zone }
