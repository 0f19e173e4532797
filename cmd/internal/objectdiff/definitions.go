package objectdiff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RiskKind is what could happen to existing objects.
type RiskKind string

// Kinds of risks.
const (
	DataLoss RiskKind = "data could be lost"
	Invalid  RiskKind = "existing objects would be invalid"
)

// Risk is what a change of a definition could do to existing objects.
type Risk struct {
	Kind   RiskKind `json:"risk"`
	Reason string   `json:"reason"`
}

// risksAtMost is how many risks of a definition are named.
const risksAtMost = 20

// risksOf compares two definitions of a kind; after is nil if the definition is removed.
func risksOf(before, after *unstructured.Unstructured) []Risk {
	if after == nil {
		return []Risk{{DataLoss, "the kind is removed, with all its objects"}}
	}
	old, err := definitionOf(before)
	if err != nil {
		return []Risk{{DataLoss, "the older definition cannot be read: " + err.Error()}}
	}
	present, err := definitionOf(after)
	if err != nil {
		return []Risk{{DataLoss, "the newer definition cannot be read: " + err.Error()}}
	}
	found := Risks(old.Spec, present.Spec)
	if more := len(found) - risksAtMost; more > 0 {
		found = append(found[:risksAtMost], Risk{found[risksAtMost].Kind, fmt.Sprintf("%d more reasons", more)})
	}
	return found
}

func definitionOf(u *unstructured.Unstructured) (apiextensionsv1.CustomResourceDefinition, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	content, err := json.Marshal(u.Object)
	if err == nil {
		err = json.Unmarshal(content, &definition)
	}
	return definition, err
}

// Risks returns what could happen to objects of a kind with a changed definition. It reports possible losses, whether
// or not an object is affected, because no cluster is read.
func Risks(before, after apiextensionsv1.CustomResourceDefinitionSpec) []Risk {
	var found risks
	if before.Scope != after.Scope {
		found.add(DataLoss, "the scope changes from %s to %s", before.Scope, after.Scope)
	}
	if before.PreserveUnknownFields && !after.PreserveUnknownFields {
		found.add(DataLoss, "unknown fields are no longer preserved")
	}
	for _, old := range before.Versions {
		present := versionOf(after, old.Name)
		switch {
		case present == nil && old.Storage:
			found.add(DataLoss, "version %s is removed, in which objects are stored", old.Name)
		case present == nil:
			found.add(DataLoss, "version %s is removed", old.Name)
		case old.Served && !present.Served:
			found.add(DataLoss, "version %s is no longer served", old.Name)
		}
		if present != nil {
			found.compareVersions("version "+old.Name, old, *present)
		}
	}
	old, present := storedOf(before), storedOf(after)
	if old != nil && present != nil && old.Name != present.Name && !converts(after) {
		found.compareVersions("stored as "+present.Name+" instead of "+old.Name, *old, *present)
	}
	return found
}

// versionOf returns the version of this name; nil if there is none.
func versionOf(spec apiextensionsv1.CustomResourceDefinitionSpec, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	at := slices.IndexFunc(spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
	if at < 0 {
		return nil
	}
	return &spec.Versions[at]
}

func storedOf(spec apiextensionsv1.CustomResourceDefinitionSpec) *apiextensionsv1.CustomResourceDefinitionVersion {
	at := slices.IndexFunc(spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if at < 0 {
		return nil
	}
	return &spec.Versions[at]
}

// converts reports whether a webhook converts objects between versions.
func converts(spec apiextensionsv1.CustomResourceDefinitionSpec) bool {
	return spec.Conversion != nil && spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// risks collects the risks found so far.
type risks []Risk

func (r *risks) add(kind RiskKind, format string, values ...any) {
	*r = append(*r, Risk{kind, fmt.Sprintf(format, values...)})
}

func (r *risks) compareVersions(where string, before, after apiextensionsv1.CustomResourceDefinitionVersion) {
	if before.Schema == nil || after.Schema == nil || before.Schema.OpenAPIV3Schema == nil || after.Schema.OpenAPIV3Schema == nil {
		return
	}
	r.compareSchemas(where+": ", "", before.Schema.OpenAPIV3Schema, after.Schema.OpenAPIV3Schema)
}

func (r *risks) compareSchemas(where, path string, before, after *apiextensionsv1.JSONSchemaProps) {
	at := path
	if at == "" {
		at = "the object"
	}
	if wasType, isType := typeOf(before), typeOf(after); wasType != isType && !widens(wasType, isType) {
		r.add(DataLoss, "%s%s changes its type from %s to %s", where, at, wasType, isType)
		return
	}
	keeps := preserves(after)
	if preserves(before) && !keeps {
		r.add(DataLoss, "%s%s no longer preserves unknown fields", where, at)
	}
	for _, name := range slices.Sorted(maps.Keys(before.Properties)) {
		old := before.Properties[name]
		if path == "" && (name == "metadata" || name == "apiVersion" || name == "kind") {
			continue // the API server always has them
		}
		if present, there := after.Properties[name]; there {
			r.compareSchemas(where, path+textOf(name), &old, &present)
		} else if !keeps && after.AdditionalProperties == nil {
			r.add(DataLoss, "%s%s%s is removed", where, path, textOf(name))
		}
	}
	for _, name := range after.Required {
		if present := after.Properties[name]; !slices.Contains(before.Required, name) && present.Default == nil {
			r.add(Invalid, "%s%s%s becomes required", where, path, textOf(name))
		}
	}
	if before.AdditionalProperties != nil && after.AdditionalProperties == nil && !keeps {
		r.add(DataLoss, "%s%s no longer has keys of any name", where, at)
	}
	if old, present := valuesOf(before), valuesOf(after); old != nil && present != nil {
		r.compareSchemas(where, path+"[*]", old, present)
	}
}

// preserves reports whether fields are kept that the schema does not name.
func preserves(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// valuesOf returns the schema of the items of a list, or of the values of a map; nil for other types.
func valuesOf(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	switch {
	case s.Items != nil:
		return s.Items.Schema
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties.Schema
	}
	return nil
}

const (
	anyType     = "any"
	intOrString = "int-or-string"
)

func typeOf(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return intOrString
	case s.Type == "":
		return anyType
	}
	return s.Type
}

// widens reports whether all values of the first type are valid for the second.
func widens(before, after string) bool {
	switch after {
	case anyType:
		return true
	case intOrString:
		return before == "integer" || before == "string"
	case "number":
		return before == "integer"
	}
	return false
}
