package artifacts

import (
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts/render"
)

// ChartMediaType is the media type of the layer of a Helm chart, as `helm push` stores charts.
const ChartMediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// onlyLayer returns the digest of the layer to install from an OCI artifact: its chart, or its only layer. A chart may
// have a provenance layer beside it.
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
