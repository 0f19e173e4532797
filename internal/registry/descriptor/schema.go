package descriptor

import (
	"encoding/json"
	"fmt"

	"github.com/xeipuuv/gojsonschema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	metav1 "ocm.software/ocm/api/ocm/compdesc/meta/v1"
	"ocm.software/ocm/api/ocm/compdesc/versions/ocm.software/v3alpha1"
	v3schema "ocm.software/ocm/api/ocm/compdesc/versions/ocm.software/v3alpha1/jsonscheme"
	v2 "ocm.software/ocm/api/ocm/compdesc/versions/v2"
	v2schema "ocm.software/ocm/api/ocm/compdesc/versions/v2/jsonscheme"
	"sigs.k8s.io/yaml"
)

// schema is the schema version of a descriptor. The zero value has the paths of v2.
type schema string

// Importing the packages of the schemas registers them with the library.
const (
	schemaV2 schema = v2.SchemaVersion
	schemaV3 schema = v3alpha1.SchemaVersion

	// maxSize is far above the need of a component with a thousand resources, and above the limit of a custom resource.
	maxSize = 4 << 20
)

// metadata returns the path of name, version and provider.
func (s schema) metadata() *field.Path {
	if s == schemaV3 {
		return field.NewPath("metadata")
	}
	return field.NewPath("component")
}

func (s schema) resources() *field.Path {
	if s == schemaV3 {
		return field.NewPath("spec", "resources")
	}
	return field.NewPath("component", "resources")
}

func (s schema) resource(i int) *field.Path { return s.resources().Index(i) }

func (s schema) repositoryContexts() *field.Path {
	if s == schemaV3 {
		return field.NewPath("repositoryContexts")
	}
	return field.NewPath("component", "repositoryContexts")
}

// rules returns the library's JSON schema.
func (s schema) rules() *gojsonschema.Schema {
	if s == schemaV3 {
		return v3schema.Schema
	}
	return v2schema.Schema
}

// document is a descriptor in the library's input form.
type document struct {
	schema schema
	json   []byte
}

// read detects the schema, and converts the provider to the schema's form: a name in v2, an object in v3alpha1.
// Descriptors of both schemas use both forms.
func read(raw []byte) (document, error) {
	asJSON, err := yaml.YAMLToJSON(raw)
	if err != nil {
		return document{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	var content map[string]json.RawMessage
	if err := json.Unmarshal(asJSON, &content); err != nil {
		return document{}, fmt.Errorf("%w: it is not an object", ErrInvalid)
	}
	d := document{json: asJSON}
	if d.schema, err = schemaOf(content); err != nil {
		return document{}, err
	}
	part := d.schema.metadata().String()
	var metadata map[string]json.RawMessage
	if err := json.Unmarshal(content[part], &metadata); err != nil || metadata["provider"] == nil {
		return d, nil //nolint:nilerr // the schema says what is wrong
	}
	changed, err := d.schema.provider(metadata["provider"])
	if err != nil || changed == nil {
		return d, err
	}
	metadata["provider"] = changed
	if content[part], err = json.Marshal(metadata); err != nil {
		return document{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if d.json, err = json.Marshal(content); err != nil {
		return document{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return d, nil
}

// schemaOf returns the schema by the library's rules: `meta.schemaVersion` in v2, `apiVersion` in v3alpha1.
func schemaOf(content map[string]json.RawMessage) (schema, error) {
	var meta struct {
		SchemaVersion string `json:"schemaVersion"`
	}
	var apiVersion string
	if raw := content["meta"]; raw != nil {
		if err := json.Unmarshal(raw, &meta); err != nil {
			return "", invalid(field.Invalid(field.NewPath("meta"), field.OmitValueType{}, "must be an object with a schemaVersion"))
		}
	}
	if raw := content["apiVersion"]; raw != nil {
		if err := json.Unmarshal(raw, &apiVersion); err != nil {
			return "", invalid(field.Invalid(field.NewPath("apiVersion"), field.OmitValueType{}, "must be text"))
		}
	}
	atMeta, atAPIVersion := field.NewPath("meta", "schemaVersion"), field.NewPath("apiVersion")
	switch {
	case meta.SchemaVersion != "" && apiVersion != "":
		return "", invalid(field.Forbidden(atAPIVersion, "meta.schemaVersion is also set: a descriptor has one schema"))
	case schema(apiVersion) == schemaV3:
		return schemaV3, nil
	case apiVersion != "":
		return "", invalid(field.NotSupported(atAPIVersion, short(apiVersion), []schema{schemaV3}))
	case schema(meta.SchemaVersion) == schemaV2:
		return schemaV2, nil
	case meta.SchemaVersion != "":
		return "", invalid(field.NotSupported(atMeta, short(meta.SchemaVersion), []schema{schemaV2}))
	default:
		return "", invalid(field.Required(atMeta, "v2, or apiVersion: "+string(schemaV3)))
	}
}

// provider returns the provider in the schema's form. It is nil if the form is already correct, or unknown.
func (s schema) provider(given json.RawMessage) (json.RawMessage, error) {
	var name string
	if json.Unmarshal(given, &name) == nil {
		if s != schemaV3 || name == "" {
			return nil, nil
		}
		return json.Marshal(map[string]string{"name": name})
	}
	if s != schemaV2 {
		return nil, nil
	}
	var provider metav1.Provider
	if err := json.Unmarshal(given, &provider); err != nil {
		return nil, nil //nolint:nilerr // the schema says what is wrong
	}
	if provider.Name == "" {
		return nil, invalid(field.Required(s.metadata().Child("provider", "name"), ""))
	}
	if len(provider.Labels) == 0 {
		return json.Marshal(provider.Name)
	}
	// The library itself writes and reads a provider with labels in this form in v2.
	encoded, err := json.Marshal(provider)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return json.Marshal(string(encoded))
}
