package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// File is one file of an archive.
type File struct {
	Name    string
	Content []byte
}

const (
	tarMagicAt = 257
	tarBlock   = 512
)

// Unpack returns the files of a layer if the layer is a tar archive (compressed or not). Otherwise it returns no files,
// and the decompressed content.
func Unpack(layer []byte, limits Limits) ([]File, []byte, error) {
	content := layer
	if bytes.HasPrefix(layer, []byte{0x1f, 0x8b}) {
		decompressor, err := gzip.NewReader(bytes.NewReader(layer))
		if err != nil {
			return nil, nil, Invalid("it begins like gzip but is invalid: %w", err)
		}
		content, err = io.ReadAll(io.LimitReader(decompressor, limits.UnpackedBytes+1))
		if err != nil {
			return nil, nil, Invalid("it cannot be decompressed: %w", err)
		}
	}
	if int64(len(content)) > limits.UnpackedBytes {
		return nil, nil, fault.New(fault.Rejected, ReasonLayerTooLarge, "it unpacks to more than %d bytes", limits.UnpackedBytes)
	}
	if !isTar(content) {
		return nil, content, nil
	}
	files, err := Untar(content, limits)
	return files, nil, err
}

func isTar(content []byte) bool {
	return len(content) >= tarBlock && bytes.HasPrefix(content[tarMagicAt:], []byte("ustar"))
}

// Untar returns the regular files of an archive. It refuses entries that could reach outside of the archive (absolute
// and parent paths, links, devices) instead of skipping them: honest tools do not write them.
func Untar(content []byte, limits Limits) ([]File, error) {
	reader := tar.NewReader(bytes.NewReader(content))
	var files []File
	seen := map[string]bool{}
	left := limits.UnpackedBytes
	for entries := 0; ; entries++ {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, Invalid("the archive is damaged: %w", err)
		}
		if entries >= limits.Entries {
			return nil, fault.New(fault.Rejected, ReasonLayerTooLarge, "the archive has more than %d entries", limits.Entries)
		}
		if header.Typeflag == tar.TypeDir || header.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name, err := entryName(header)
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, Invalid("the archive has %q twice", name)
		}
		seen[name] = true
		// A sparse file expands to more than the size of its archive.
		data, err := io.ReadAll(io.LimitReader(reader, left+1))
		if err != nil {
			return nil, Invalid("the archive ends within %q: %w", name, err)
		}
		if left -= int64(len(data)); left < 0 {
			return nil, fault.New(fault.Rejected, ReasonLayerTooLarge, "it unpacks to more than %d bytes", limits.UnpackedBytes)
		}
		files = append(files, File{Name: name, Content: data})
	}
}

func entryName(header *tar.Header) (string, error) {
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeRegA: //nolint:staticcheck // old archives have it
	case tar.TypeSymlink, tar.TypeLink:
		return "", Invalid("the archive has the link %q; links are refused", header.Name)
	default:
		return "", Invalid("the archive has %q, which is not a regular file", header.Name)
	}
	slashed := strings.ReplaceAll(header.Name, `\`, "/")
	if path.IsAbs(slashed) {
		return "", Invalid("the archive has the absolute path %q", header.Name)
	}
	for part := range strings.SplitSeq(slashed, "/") {
		if part == ".." {
			return "", Invalid("the archive has %q, a path that leaves the archive", header.Name)
		}
	}
	name := path.Clean(slashed)
	if name == "." {
		return "", Invalid("the archive has a file without a name")
	}
	return name, nil
}
