// Package chartvalues checks the values of a Helm chart against the schemas that the chart brings, without fetching
// anything: what a schema refers to is taken from the schema itself and from the drafts of JSON Schema.
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

// Validate checks values, with the defaults of the chart and its dependencies in them, against the values.schema.json of
// the chart and of each dependency that is given values. It takes the place of Helm's own check, which follows a `$ref`
// to wherever it leads: to files of this machine, and by http to everything that it can reach.
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
			err = fmt.Errorf("it cannot be used: %v", p)
		}
	}()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
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
		slices.Sort(lines) // found in the order of maps
		return fmt.Errorf("the values do not fit: %s", strings.Join(strings.Fields(strings.Join(lines, " ")), " "))
	}
	return nil
}

// refusal loads nothing. As with Helm, what has only a name (urn:) and no place is taken as a schema that all values fit.
type refusal struct{}

func (refusal) Load(address string) (any, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it refers to another document by an address that is none")
	}
	if parsed.Scheme == "urn" {
		return true, nil
	}
	return nil, fmt.Errorf("it refers to %s, which is not fetched; put what it needs into the schema itself, under $defs", parsed.Redacted())
}
