package render

import (
	"strings"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Reasons of faults of this package. All are fault.Rejected but the last, which is fault.Transient.
const (
	// ReasonLayerTooLarge: the layer, or what it unpacks to, is above the limits.
	ReasonLayerTooLarge = "LayerTooLarge"
	// ReasonInvalidManifest: the layer cannot be read as what it says it is.
	ReasonInvalidManifest = "InvalidManifest"
	// ReasonInvalidChart: the Helm chart cannot be loaded or rendered.
	ReasonInvalidChart = "InvalidChart"
	// ReasonUnsupported: the layer is of a kind that we do not install, e.g. a kustomize folder.
	ReasonUnsupported = "Unsupported"
	// ReasonRendererFailed: the process that renders a chart could not do so, for a reason that is not the chart's.
	ReasonRendererFailed = "RendererFailed"
)

// Invalid is the fault of layers that cannot be installed without a change (ReasonInvalidManifest).
func Invalid(format string, args ...any) error {
	return fault.New(fault.Rejected, ReasonInvalidManifest, format, args...)
}

// brief keeps a message to what fits a status: parsers quote whole documents.
func brief(err error) string {
	lines := strings.SplitN(err.Error(), "\n", 3)
	line := strings.TrimSpace(lines[0])
	if strings.HasSuffix(line, ":") && len(lines) > 1 {
		line += " " + strings.TrimSpace(lines[1])
	}
	const enough = 200
	return fault.Shorten(line, enough)
}
