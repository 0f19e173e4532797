package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Format is an output format.
type Format string

// Formats.
const (
	// FormatYAML prints YAML documents.
	FormatYAML Format = "yaml"
	// FormatJSON prints one JSON document, a list.
	FormatJSON Format = "json"
)

// ErrFormat means that an output format is unknown.
var ErrFormat = errors.New("unknown output format")

// Print writes the resources in a form that `kubectl apply -f -` accepts. The
// release meta may be nil.
func Print(out io.Writer, format Format, template v1beta2.ModuleTemplate, release *v1beta2.ModuleReleaseMeta) error {
	resources := []any{template}
	if release != nil {
		resources = append(resources, release)
	}
	switch format {
	case FormatYAML:
		for _, resource := range resources {
			text, err := yaml.Marshal(resource)
			if err != nil {
				return fmt.Errorf("write resource: %w", err)
			}
			if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
				return fmt.Errorf("write resource: %w", err)
			}
		}
		return nil
	case FormatJSON:
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		list := map[string]any{"apiVersion": "v1", "kind": "List", "items": resources}
		if err := encoder.Encode(list); err != nil {
			return fmt.Errorf("write resources: %w", err)
		}
		return nil
	}
	return fmt.Errorf("%w %q: use yaml or json", ErrFormat, format)
}
