package tree

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes the Kymas as one JSON document, for machines: {"kymas": [...]}. Without an indentation it is one line.
func WriteJSON(out io.Writer, kymas []Kyma, indentation string) error {
	if kymas == nil {
		kymas = []Kyma{}
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indentation)
	if err := encoder.Encode(struct {
		Kymas []Kyma `json:"kymas"`
	}{kymas}); err != nil {
		return fmt.Errorf("write as JSON: %w", err)
	}
	return nil
}
