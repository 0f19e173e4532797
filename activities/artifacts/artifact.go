package artifacts

import (
	"encoding/json"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts/render"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
)

// ChartMediaType is the media type of a Helm chart's layer, and of charts as `helm push` stores them.
const ChartMediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// onlyLayer returns the digest of the layer of an OCI artifact that is meant: its chart, or its only one. A chart may
// have its provenance beside it.
func onlyLayer(raw []byte) (string, error) {
	var manifest v1.Manifest
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return "", render.Invalid("it is not an OCI manifest")
	}
	charts := slices.DeleteFunc(slices.Clone(manifest.Layers), func(layer v1.Descriptor) bool { return string(layer.MediaType) != ChartMediaType })
	if len(charts) == 1 {
		return charts[0].Digest.String(), nil
	}
	if len(manifest.Layers) != 1 {
		return "", fault.New(fault.Rejected, render.ReasonUnsupported, "it is an OCI artifact of %d layers; one layer can be installed", len(manifest.Layers))
	}
	return manifest.Layers[0].Digest.String(), nil
}
