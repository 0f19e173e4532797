package render

import (
	"strings"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Reasons of this package's faults. All are fault.Rejected except for the last, which is fault.Transient.
const (
	// ReasonLayerTooLarge: the layer, or its unpacked content, exceeds the limits.
	ReasonLayerTooLarge = "LayerTooLarge"
	// ReasonInvalidManifest: the layer's content does not have the declared form.
	ReasonInvalidManifest = "InvalidManifest"
	// ReasonInvalidChart: the Helm chart cannot be loaded or rendered.
	ReasonInvalidChart = "InvalidChart"
	// ReasonUnsupported: we do not install this kind of layer, e.g. a kustomize folder.
	ReasonUnsupported = "Unsupported"
	// ReasonRendererFailed: the renderer's process failed for a reason outside of the chart.
	ReasonRendererFailed = "RendererFailed"
)

// Invalid returns the fault of a layer that cannot be installed without a change (ReasonInvalidManifest).
func Invalid(format string, args ...any) error {
	return fault.New(fault.Rejected, ReasonInvalidManifest, format, args...)
}

// brief returns an error's message at a length that fits a status. Parsers quote whole documents.
func brief(err error) string {
	lines := strings.SplitN(err.Error(), "\n", 3)
	line := strings.TrimSpace(lines[0])
	if strings.HasSuffix(line, ":") && len(lines) > 1 {
		line += " " + strings.TrimSpace(lines[1])
	}
	const enough = 200
	return fault.Shorten(line, enough)
}
