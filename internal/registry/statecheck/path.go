// Package statecheck parses the JSONPaths by which a module locates the state in its custom resource.
package statecheck

import (
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// Parse parses a JSONPath like kubectl, with or without braces and leading dot or dollar. Its result treats missing
// fields as empty, and is not safe for concurrent use. The error names the path.
func Parse(path string) (*jsonpath.JSONPath, error) {
	expression := strings.TrimPrefix(strings.TrimSpace(path), "$")
	if !strings.HasPrefix(expression, "{") {
		expression = "{." + strings.TrimPrefix(expression, ".") + "}"
	}
	parser := jsonpath.New("state").AllowMissingKeys(true)
	if err := parser.Parse(expression); err != nil {
		return nil, fmt.Errorf("%q is not a JSONPath: %w", path, err)
	}
	return parser, nil
}
