package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// writeLayout writes the index and the SBOMs as an OCI image layout. It replaces an existing layout, but nothing else.
func (b *built) writeLayout(out, tag string) error {
	entries, err := os.ReadDir(out)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read the folder for the image layout: %w", err)
	}
	if _, err := layout.FromPath(out); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s exists and is not an image layout, so it is not replaced: %w", out, err)
	}
	if err := os.MkdirAll(filepath.Dir(out), folder); err != nil {
		return fmt.Errorf("make the folder of the image layout: %w", err)
	}
	// Write to a temporary folder first, so that the layout is never incomplete.
	partial, err := os.MkdirTemp(filepath.Dir(out), ".image-*")
	if err != nil {
		return fmt.Errorf("make the folder of the image layout: %w", err)
	}
	defer func() { _ = os.RemoveAll(partial) }()
	if err := b.write(partial, tag); err != nil {
		return fmt.Errorf("write the image layout: %w", err)
	}
	if err := os.RemoveAll(out); err != nil {
		return fmt.Errorf("remove the old image layout: %w", err)
	}
	if err := os.Chmod(partial, folder); err != nil {
		return fmt.Errorf("make the image layout readable: %w", err)
	}
	if err := os.Rename(partial, out); err != nil {
		return fmt.Errorf("put the image layout in place: %w", err)
	}
	return nil
}

func (b *built) write(folder, tag string) error {
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := written.AppendIndex(b.index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag})); err != nil {
		return err
	}
	for _, each := range b.platforms {
		if err := written.AppendImage(each.sbom); err != nil {
			return err
		}
	}
	return nil
}

// describe prints what was built.
func (b *built) describe(out io.Writer, folder string) error {
	digest, err := b.index.Digest()
	if err != nil {
		return fmt.Errorf("compute the digest of the index: %w", err)
	}
	if _, err := fmt.Fprintf(out, "%s\n  index        %s\n", folder, digest); err != nil {
		return err
	}
	for _, each := range b.platforms {
		size, err := compressedSize(each.image)
		if err != nil {
			return err
		}
		digest, err := each.image.Digest()
		if err != nil {
			return fmt.Errorf("compute the digest of the image for %s: %w", each.platform, err)
		}
		if _, err := fmt.Fprintf(out, "  %-12s %s  %.1f MB to pull, program %.1f MB\n", each.platform, digest, megabytes(size), megabytes(int64(each.programSize))); err != nil {
			return err
		}
	}
	return nil
}

func compressedSize(image v1.Image) (int64, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return 0, fmt.Errorf("read the manifest of an image: %w", err)
	}
	total := manifest.Config.Size
	for _, layer := range manifest.Layers {
		total += layer.Size
	}
	return total, nil
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }
