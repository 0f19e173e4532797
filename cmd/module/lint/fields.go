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

// fieldsFile lists the required fields and the enumerated values of Kubernetes' kinds. `make generate-fields` writes it
// and omits rules that an API server does not enforce.
//
//go:embed fields.json
var fieldsFile []byte

// fields checks required fields and enumerated values. The zero value is ready to use: the file is read for the first
// object, and the schema of a kind for the first object of the kind.
type fields struct {
	schemas map[string]json.RawMessage
	// validators by the name of the kind's schema. Nil for a kind without rules.
	validators map[string]validation.SchemaValidator
}

// check reports whether the object has all required fields and only allowed values. The kind's Go type returns the name
// of its schema. An object of a kind without a schema always passes.
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

// validator returns the validator of the schema with this name, or nil if there is no such schema.
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

// resolve replaces references by the schemas that they refer to, because the validator follows no references. No schema
// contains itself.
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

// withoutEmpty returns a copy of the value without fields that are null, an empty string or an empty list. An API
// server decodes into Go types, so it treats these fields as missing, whether they are required or not.
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
