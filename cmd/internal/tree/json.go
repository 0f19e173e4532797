package tree

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the Kymas as one JSON document: {"kymas": [...]}. Without an indentation, the document is one line.
func WriteJSON(out io.Writer, fleet Fleet, indentation string) error {
	if fleet.Kymas == nil {
		fleet.Kymas = []Kyma{}
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indentation)
	if err := encoder.Encode(fleet); err != nil {
		return fmt.Errorf("write as JSON: %w", err)
	}
	return nil
}
