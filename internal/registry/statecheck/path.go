// Package statecheck reads the paths with which a module says where the state of its custom resource is.
package statecheck

import (
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// Parse reads a JSONPath as kubectl does, with or without braces and leading dot or dollar. With what it returns,
// what is not there is empty. It is not safe for concurrent use. The error names the path.
func Parse(path string) (*jsonpath.JSONPath, error) {
	expression := strings.TrimPrefix(strings.TrimSpace(path), "$")
	if !strings.HasPrefix(expression, "{") {
		expression = "{." + strings.TrimPrefix(expression, ".") + "}"
	}
	parser := jsonpath.New("state").AllowMissingKeys(true)
	if err := parser.Parse(expression); err != nil {
		return nil, fmt.Errorf("%q is no JSONPath: %w", path, err)
	}
	return parser, nil
}
