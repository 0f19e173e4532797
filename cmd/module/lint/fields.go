package lint

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
)

// fieldsFile says which fields of the kinds of Kubernetes are required, and which values those with a list of values may
// have. `make generate-fields` writes it; what an API server does not insist on is left out.
//
//go:embed fields.json
var fieldsFile []byte

// fields are the required fields and the enumerated values of kinds. The zero value is ready for use: the file is read
// when the first object is checked, and the schema of a kind when the first object of that kind is.
type fields struct {
	schemas map[string]json.RawMessage
	// validators by the name of the kind's schema; nil for a kind of which nothing is known.
	validators map[string]validation.SchemaValidator
}

// check reports whether nothing is wrong with the object's required fields and enumerated values. The kind's type in Go
// knows the name of its schema; with an object of a kind that has none nothing is wrong.
func (f *fields) check(item object, typed runtime.Object, report *Report) bool {
	named, isNamed := typed.(interface{ OpenAPIModelName() string })
	if !isNamed {
		return true
	}
	validator, err := f.validator(named.OpenAPIModelName())
	if err != nil {
		report.fail(item.file, item.where(), "%v", err)
		return false
	}
	if validator == nil {
		return true
	}
	problems := validation.ValidateCustomResource(nil, withoutEmpty(item.Object), validator)
	for _, problem := range problems {
		report.fail(item.file, item.where(), "%v", problem)
	}
	return len(problems) == 0
}

// validator of the schema with the name; nil where there is no such schema.
func (f *fields) validator(name string) (validation.SchemaValidator, error) {
	if known, done := f.validators[name]; done {
		return known, nil
	}
	if err := f.read(); err != nil {
		return nil, err
	}
	if _, has := f.schemas[name]; !has {
		f.validators[name] = nil
		return nil, nil
	}
	resolved, schema := apiextensionsv1.JSONSchemaProps{Ref: &name}, apiextensions.JSONSchemaProps{}
	if err := resolve(&resolved, f.schemas); err != nil {
		return nil, err
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&resolved, &schema, nil); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	validator, _, err := validation.NewSchemaValidator(&schema)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	f.validators[name] = validator
	return validator, nil
}

func (f *fields) read() error {
	if f.schemas != nil {
		return nil
	}
	var file struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
	}
	if err := json.Unmarshal(fieldsFile, &file); err != nil {
		return fmt.Errorf("read the fields of Kubernetes' kinds: %w", err)
	}
	f.schemas, f.validators = file.Schemas, map[string]validation.SchemaValidator{}
	return nil
}

// resolve puts schemas in the place of references to them, as the validator follows none. No schema contains itself.
func resolve(schema *apiextensionsv1.JSONSchemaProps, named map[string]json.RawMessage) error {
	if schema.Ref != nil {
		name := *schema.Ref
		*schema = apiextensionsv1.JSONSchemaProps{}
		if err := json.Unmarshal(named[name], schema); err != nil {
			return fmt.Errorf("schema %s: %w", name, err)
		}
	}
	for field, property := range schema.Properties {
		if err := resolve(&property, named); err != nil {
			return err
		}
		schema.Properties[field] = property
	}
	if schema.Items != nil {
		if err := resolve(schema.Items.Schema, named); err != nil {
			return err
		}
	}
	if schema.AdditionalProperties != nil {
		return resolve(schema.AdditionalProperties.Schema, named)
	}
	return nil
}

// withoutEmpty is a value without the fields that are null, an empty text or an empty list: to an API server, whose
// types are Go's, they are as if they were not there, required or not.
func withoutEmpty(value any) any {
	switch of := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(of))
		for name, field := range of {
			if list, isList := field.([]any); field != nil && field != "" && (!isList || len(list) > 0) {
				kept[name] = withoutEmpty(field)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(of))
		for i := range of {
			kept[i] = withoutEmpty(of[i])
		}
		return kept
	default:
		return value
	}
}
