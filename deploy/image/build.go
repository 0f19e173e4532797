package main

import (
	"context"
	"fmt"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// built is the result of a build.
type built struct {
	// index lists the images by platform. A tag refers to it.
	index     v1.ImageIndex
	platforms []platformImage
}

// platformImage is the image for one platform, with its SBOM.
type platformImage struct {
	platform    v1.Platform
	image, sbom v1.Image
	programSize int
}

// build builds a program of the repository in root, and its image for each platform. It calls say with progress
// messages.
func build(ctx context.Context, root string, p program, platformNames []string, r release, say func(string)) (*built, error) {
	platforms := make([]v1.Platform, 0, len(platformNames))
	for _, text := range platformNames {
		platform, err := parsePlatform(text)
		if err != nil {
			return nil, err
		}
		platforms = append(platforms, *platform)
	}
	goRoot, err := goRoot(ctx)
	if err != nil {
		return nil, err
	}
	files, err := baseFiles(goRoot)
	if err != nil {
		return nil, err
	}
	base, err := newLayer(files)
	if err != nil {
		return nil, fmt.Errorf("pack the base layer: %w", err)
	}
	folder, err := os.MkdirTemp("", "image-*")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the programs: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	paths, err := compileAll(ctx, root, p, platforms, r, folder, say)
	if err != nil {
		return nil, err
	}
	b := &built{}
	adds := make([]mutate.IndexAddendum, 0, len(platforms))
	for i, platform := range platforms {
		each, err := buildPlatform(p, platform, r, base, paths[i])
		if err != nil {
			return nil, err
		}
		b.platforms = append(b.platforms, each)
		adds = append(adds, mutate.IndexAddendum{Add: each.image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	index, ok := mutate.Annotations(mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), adds...), labels(p, r)).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("annotate the index of %s: the result is not an index", p.name)
	}
	b.index = index
	return b, nil
}

func parsePlatform(text string) (*v1.Platform, error) {
	platform, err := v1.ParsePlatform(text)
	if err != nil {
		return nil, fmt.Errorf("the platform %q: %w", text, err)
	}
	if platform.OS != "linux" || platform.Architecture == "" || platform.Variant != "" {
		return nil, fmt.Errorf("the platform %q is not supported: use a platform such as linux/amd64", text)
	}
	return platform, nil
}

func buildPlatform(p program, platform v1.Platform, r release, base v1.Layer, compiled string) (platformImage, error) {
	out := platformImage{platform: platform}
	binary, err := os.ReadFile(compiled)
	if err != nil {
		return out, fmt.Errorf("read the program: %w", err)
	}
	out.programSize = len(binary)
	if out.image, err = newImage(p, platform, r, base, binary); err != nil {
		return out, err
	}
	described, err := partial.Descriptor(out.image)
	if err != nil {
		return out, fmt.Errorf("describe the image for %s: %w", platform, err)
	}
	sbom, err := newSBOM(p, platform, r, binary)
	if err != nil {
		return out, err
	}
	out.sbom, err = attach(sbom, *described, map[string]string{
		"org.opencontainers.image.title":   fmt.Sprintf("%s-%s-%s.spdx.json", p.name, platform.OS, platform.Architecture),
		"org.opencontainers.image.created": r.created.Format(time.RFC3339),
	})
	return out, err
}
