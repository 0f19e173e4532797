// Package chartvalues validates the values of a Helm chart against the chart's schemas without fetching anything: a
// schema can refer only to itself and to the drafts of JSON Schema.
package chartvalues

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart"
)

const (
	schemaFile = "values.schema.json"
	schemaURL  = "file:///" + schemaFile
)

// Validate checks values, with the defaults of the chart and its dependencies applied, against the values.schema.json
// of the chart and of each dependency that has values. It replaces Helm's own validation, which follows every `$ref`:
// to files of this machine, and by HTTP to every reachable host.
func Validate(c *chart.Chart, values map[string]any) error {
	var problems []error
	if c.Schema != nil {
		if err := validate(c.Schema, values); err != nil {
			problems = append(problems, fmt.Errorf("%s of chart %s: %w", schemaFile, c.Name(), err))
		}
	}
	for _, dependency := range c.Dependencies() {
		given, present := values[dependency.Name()]
		if !present || given == nil {
			continue
		}
		own, isMap := given.(map[string]any)
		if !isMap {
			problems = append(problems, fmt.Errorf("the values of chart %s are a %T instead of a map", dependency.Name(), given))
			continue
		}
		if err := Validate(dependency, own); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func validate(text []byte, values map[string]any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema cannot be used: %v", p)
		}
	}()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("the schema is not JSON: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refusal{})
	if err := compiler.AddResource(schemaURL, schema); err != nil {
		return err
	}
	compiled, err := compiler.Compile(schemaURL)
	var load *jsonschema.LoadURLError
	switch {
	case errors.As(err, &load):
		return load.Err
	case err != nil:
		return err
	}
	if err := compiled.Validate(values); err != nil {
		_, details, _ := strings.Cut(err.Error(), "\n")
		lines := strings.Split(details, "\n")
		slices.Sort(lines) // the library finds them in the order of maps
		return fmt.Errorf("the values do not match: %s", strings.Join(strings.Fields(strings.Join(lines, " ")), " "))
	}
	return nil
}

// refusal loads nothing. Like in Helm, a reference that has only a name (urn:) and no location matches all values.
type refusal struct{}

func (refusal) Load(address string) (any, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the schema refers to another document by an invalid address")
	}
	if parsed.Scheme == "urn" {
		return true, nil
	}
	return nil, fmt.Errorf("the schema refers to %s, which is not fetched; copy the definitions that it needs into the schema, under $defs", parsed.Redacted())
}
