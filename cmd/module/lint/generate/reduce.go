package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// metadata is the schema of an object's metadata. It is dropped, because an API server does not read all metadata in an
// object's template.
const metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// reduction reduces schemas to their required fields and enumerated values.
type reduction struct {
	published map[string]spec.Schema
	except    exceptions
	// kept holds the reduced schemas by name. Nil if nothing is left of a schema.
	kept map[string]*apiextensionsv1.JSONSchemaProps
	// within lists the schemas that are being reduced.
	within []string
	// met records which exceptions were used.
	met map[string]bool
}

// reduce returns the reduced schemas with these names, and the schemas that they refer to. It returns an error for an
// exception that no schema needs.
func reduce(published map[string]spec.Schema, names []string, except exceptions) (map[string]*apiextensionsv1.JSONSchemaProps, error) {
	r := &reduction{published: published, except: except, kept: map[string]*apiextensionsv1.JSONSchemaProps{}, met: map[string]bool{}}
	for _, name := range names {
		if r.isIn(r.except.notChecked, name) {
			continue
		}
		if _, err := r.named(name); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(except.notRequired)), slices.Collect(maps.Keys(except.notChecked))) {
		if !r.met[name] {
			return nil, fmt.Errorf("%s is an exception that no schema needs", name)
		}
	}
	maps.DeleteFunc(r.kept, func(_ string, kept *apiextensionsv1.JSONSchemaProps) bool { return kept == nil })
	return r.kept, nil
}

// named reduces the schema with this name. It returns nil if nothing is left.
func (r *reduction) named(name string) (*apiextensionsv1.JSONSchemaProps, error) {
	if kept, done := r.kept[name]; done {
		return kept, nil
	}
	if slices.Contains(r.within, name) {
		return nil, nil // a schema that contains itself is followed once
	}
	from, found := r.published[name]
	if !found {
		return nil, fmt.Errorf("schema %s not found", name)
	}
	r.within = append(r.within, name)
	kept, err := r.schema(name, from)
	r.within = r.within[:len(r.within)-1]
	r.kept[name] = kept
	return kept, err
}

// schema reduces a schema. name is the name of a schema, or the name of a field: its type and the field.
func (r *reduction) schema(name string, from spec.Schema) (*apiextensionsv1.JSONSchemaProps, error) {
	if ref := from.Ref.String(); ref != "" {
		if ref == metadata {
			return nil, nil
		}
		if kept, err := r.named(ref); kept == nil || err != nil {
			return nil, err
		}
		return &apiextensionsv1.JSONSchemaProps{Ref: &ref}, nil
	}
	kept := &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	for _, value := range from.Enum {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("values of %s: %w", name, err)
		}
		kept.Enum = append(kept.Enum, apiextensionsv1.JSON{Raw: raw})
	}
	_, isObject := from.Properties["metadata"]
	for _, field := range slices.Sorted(maps.Keys(from.Properties)) {
		full := name + "." + field
		if r.isIn(r.except.notChecked, full) || isObject && field == "status" {
			continue // an API server takes no status from a new object
		}
		if slices.Contains(from.Required, field) && !r.isIn(r.except.notRequired, full) {
			kept.Required = append(kept.Required, field)
		}
		property, err := r.schema(full, from.Properties[field])
		if err != nil {
			return nil, err
		}
		if property != nil {
			kept.Properties[field] = *property
		}
	}
	if from.Items != nil && from.Items.Schema != nil {
		items, err := r.schema(name, *from.Items.Schema)
		if err != nil {
			return nil, err
		}
		if items != nil {
			kept.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}
		}
	}
	if from.AdditionalProperties != nil && from.AdditionalProperties.Schema != nil {
		values, err := r.schema(name, *from.AdditionalProperties.Schema)
		if err != nil {
			return nil, err
		}
		if values != nil {
			kept.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: values}
		}
	}
	if len(kept.Required) == 0 && len(kept.Enum) == 0 && len(kept.Properties) == 0 && kept.Items == nil && kept.AdditionalProperties == nil {
		return nil, nil
	}
	return kept, nil
}

func (r *reduction) isIn(exceptions map[string]string, name string) bool {
	name = strings.TrimPrefix(name, "io.k8s.api.")
	_, ok := exceptions[name]
	r.met[name] = r.met[name] || ok
	return ok
}
