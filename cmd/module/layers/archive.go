package layers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
)

// entry is a file in an archive. Its name has forward slashes.
type entry struct {
	name string
	data []byte
}

// archive writes a tar of regular files. The result depends only on names and
// content.
func archive(entries []entry) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, item := range entries {
		header := &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     item.name,
			Mode:     0o644,
			Size:     int64(len(item.data)),
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("archive %s: %w", item.name, err)
		}
		if _, err := writer.Write(item.data); err != nil {
			return nil, fmt.Errorf("archive %s: %w", item.name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("finish archive: %w", err)
	}
	return buffer.Bytes(), nil
}

// compress returns equal bytes for equal input within one build of this program.
// Another version of Go's compressor may return other bytes.
func compress(data []byte) ([]byte, error) {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write(data); err != nil {
		return nil, fmt.Errorf("compress archive: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compress archive: %w", err)
	}
	return buffer.Bytes(), nil
}
