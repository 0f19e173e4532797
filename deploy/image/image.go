package main

import (
	"fmt"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newImage returns the image of a program for one platform. It has two layers: the shared base layer and the program.
func newImage(p program, platform v1.Platform, r release, base v1.Layer, binary []byte) (v1.Image, error) {
	own, err := newLayer([]file{{path: p.path()[1:], mode: executable, content: binary}})
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", p.name, err)
	}
	created := v1.Time{Time: r.created}
	image, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant, Created: created,
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:       strconv.Itoa(nonRoot) + ":" + strconv.Itoa(nonRoot), // a number, so that Kubernetes can verify that it is not root
			Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
			Entrypoint: []string{p.path()},
			Cmd:        p.arguments,
			WorkingDir: "/",
			Labels:     labels(p, r),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("configure the image of %s: %w", p.name, err)
	}
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: base, History: v1.History{Created: created, CreatedBy: "certificate authorities, time zones, user"}},
		mutate.Addendum{Layer: own, History: v1.History{Created: created, CreatedBy: "go build " + p.importPath()}},
	)
	if err != nil {
		return nil, fmt.Errorf("assemble the image of %s: %w", p.name, err)
	}
	annotated, ok := mutate.Annotations(image, labels(p, r)).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("annotate the image of %s: the result is not an image", p.name)
	}
	return annotated, nil
}

// labels returns the annotations of the OCI image specification that describe an image. Some tools read labels, others
// annotations, so an image has both.
func labels(p program, r release) map[string]string {
	said := map[string]string{
		"org.opencontainers.image.title":       p.title,
		"org.opencontainers.image.description": p.text,
		"org.opencontainers.image.version":     r.tag(),
		"org.opencontainers.image.created":     r.created.Format(time.RFC3339),
		"org.opencontainers.image.source":      "https://" + repository,
		"org.opencontainers.image.licenses":    license,
	}
	if r.commit != unknownCommit {
		said["org.opencontainers.image.revision"] = r.commit
	}
	return said
}
