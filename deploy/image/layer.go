package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// nonRoot is the user and group that images run as. It is the number that other images commonly use.
	nonRoot = 65532

	readable   = 0o444
	executable = 0o555
	folder     = 0o755
	everyones  = 0o1777
)

// file is a file in an image. It is a folder if its path ends with a slash.
type file struct {
	path    string
	content []byte
	mode    int64
	owner   int
}

// newLayer returns a layer with these files and their parent folders, sorted by path and without times. Equal files
// give an equal layer.
func newLayer(files []file) (v1.Layer, error) {
	archived, err := archive(withFolders(files))
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archived)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
}

// withFolders adds missing parent folders and sorts the files.
func withFolders(files []file) []file {
	known := map[string]bool{}
	for _, f := range files {
		known[strings.TrimSuffix(f.path, "/")] = true
	}
	all := slices.Clone(files)
	for _, f := range files {
		for above := path.Dir(strings.TrimSuffix(f.path, "/")); above != "." && !known[above]; above = path.Dir(above) {
			known[above] = true
			all = append(all, file{path: above + "/", mode: folder})
		}
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return all
}

func archive(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.content)),
			ModTime: time.Unix(0, 0).UTC(), Format: tar.FormatPAX,
		}
		if strings.HasSuffix(f.path, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.path, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack a layer: %w", err)
	}
	return out.Bytes(), nil
}
