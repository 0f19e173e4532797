package artifacts

import (
	"context"
	"encoding/json"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts/render"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
)

// ChartMediaType is the media type of a Helm chart's layer, and of charts as `helm push` stores them.
const ChartMediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// artifactLayer returns the layer of an OCI artifact that is meant. An index is read if it has one manifest.
func (s *Store) artifactLayer(ctx context.Context, l Layer) (Layer, error) {
	found, err := s.artifactManifest(ctx, l)
	if err != nil {
		return Layer{}, err
	}
	if found.isIndex() {
		if len(found.Manifests) != 1 {
			return Layer{}, inLayer(l, fault.New(fault.Rejected, render.ReasonUnsupported, "it is an OCI index of %d manifests; an index of one can be installed", len(found.Manifests)))
		}
		inner := l
		inner.Digest = found.Manifests[0].Digest.String()
		if found, err = s.artifactManifest(ctx, inner); err != nil {
			return Layer{}, err
		}
		if found.isIndex() {
			return Layer{}, inLayer(l, fault.New(fault.Rejected, render.ReasonUnsupported, "it is an OCI index of another index; an index of one manifest can be installed"))
		}
	}
	digest, err := onlyLayer(found)
	if err != nil {
		return Layer{}, inLayer(l, err)
	}
	return Layer{Repository: l.Repository, Name: l.Name, Digest: digest}, nil
}

func (s *Store) artifactManifest(ctx context.Context, l Layer) (*stored, error) {
	raw, err := s.fetch(ctx, l, "manifests/", acceptedManifests)
	if err != nil {
		return nil, err
	}
	var found stored
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, inLayer(l, render.Invalid("it is not an OCI manifest"))
	}
	return &found, nil
}

// onlyLayer returns the digest of the layer of an OCI artifact that is meant: its chart, or its only one. A chart may
// have its provenance beside it.
func onlyLayer(manifest *stored) (string, error) {
	charts := slices.DeleteFunc(slices.Clone(manifest.Layers), func(layer v1.Descriptor) bool { return string(layer.MediaType) != ChartMediaType })
	if len(charts) == 1 {
		return charts[0].Digest.String(), nil
	}
	switch {
	case len(manifest.Layers) != 1 && manifest.Config.MediaType.IsConfig():
		return "", fault.New(fault.Rejected, render.ReasonUnsupported, "it is a container image of %d layers; a Helm chart or one layer can be installed", len(manifest.Layers))
	case len(manifest.Layers) != 1:
		return "", fault.New(fault.Rejected, render.ReasonUnsupported, "it is an OCI artifact of %d layers; one layer can be installed", len(manifest.Layers))
	}
	return manifest.Layers[0].Digest.String(), nil
}
