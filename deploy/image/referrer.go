package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// spdxType is the media type of an SBOM and its artifact type in a registry.
	spdxType = "application/spdx+json"
	// emptyType is the media type of the configuration of an artifact that is not an image.
	emptyType = "application/vnd.oci.empty.v1+json"
)

// referrer is a manifest that attaches a file to an image, as defined by the OCI image specification 1.1. It does not
// change the image. A registry lists it among the referrers of the image.
type referrer struct {
	manifest []byte
	content  v1.Layer
}

// attach returns the manifest that attaches an SBOM to an image.
func attach(sbom []byte, to v1.Descriptor, annotations map[string]string) (v1.Image, error) {
	layer := static.NewLayer(sbom, spdxType)
	described, err := partial.Descriptor(layer)
	if err != nil {
		return nil, fmt.Errorf("describe the SBOM: %w", err)
	}
	configuration, size, err := v1.SHA256(bytes.NewReader(emptyConfiguration()))
	if err != nil {
		return nil, fmt.Errorf("describe an empty configuration: %w", err)
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: spdxType,
		Config: v1.Descriptor{MediaType: emptyType, Digest: configuration, Size: size}, Layers: []v1.Descriptor{*described},
		Subject:     &v1.Descriptor{MediaType: to.MediaType, Digest: to.Digest, Size: to.Size},
		Annotations: annotations,
	})
	if err != nil {
		return nil, fmt.Errorf("attach the SBOM: %w", err)
	}
	return partial.CompressedToImage(referrer{manifest: manifest, content: layer})
}

func emptyConfiguration() []byte { return []byte("{}") }

// RawManifest implements partial.CompressedImageCore.
func (r referrer) RawManifest() ([]byte, error) { return r.manifest, nil }

// RawConfigFile implements partial.CompressedImageCore.
func (referrer) RawConfigFile() ([]byte, error) { return emptyConfiguration(), nil }

// MediaType implements partial.CompressedImageCore.
func (referrer) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// LayerByDigest implements partial.CompressedImageCore.
func (r referrer) LayerByDigest(v1.Hash) (partial.CompressedLayer, error) { return r.content, nil }
