package lint

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitionrules "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// custom holds the schemas of the kinds that the module defines.
type custom map[schema.GroupVersionKind]*apiextensions.JSONSchemaProps

// newCustom collects the schemas of the kinds that the module defines. It reports what an API server would refuse in
// their definitions.
func newCustom(objects []object, report *Report) custom {
	schemas := custom{}
	for _, item := range objects {
		if item.GroupVersionKind() != apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition") {
			continue
		}
		definition, err := definitionOf(item)
		if err != nil {
			continue // what cannot be read was reported as an object of Kubernetes
		}
		problems := definitionrules.ValidateCustomResourceDefinition(context.Background(), definition)
		for _, problem := range problems {
			report.fail(item.file, item.where(), "%v", problem)
		}
		if len(problems) > 0 {
			continue
		}
		for _, version := range definition.Spec.Versions {
			if found, err := apiextensions.GetSchemaForVersion(definition, version.Name); err == nil && found != nil && found.OpenAPIV3Schema != nil {
				schemas[schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind}] = found.OpenAPIV3Schema
			}
		}
	}
	return schemas
}

// definitionOf returns a definition in the internal form of the API server.
func definitionOf(item object) (*apiextensions.CustomResourceDefinition, error) {
	read := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, read); err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(read)
	if conversion := read.Spec.Conversion; conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
		// The installation drops placeholders for values that are filled in later.
		conversion.Webhook.ClientConfig.CABundle = nil
	}
	definition := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(read, definition, nil); err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	// The API server writes the status when it stores a definition.
	definition.Status = apiextensions.CustomResourceDefinitionStatus{}
	for _, version := range definition.Spec.Versions {
		if version.Storage {
			definition.Status.StoredVersions = []string{version.Name}
		}
	}
	return definition, nil
}

// check reports what an API server would refuse in a new object of a kind that the module defines, or drop from it
// silently.
func (c custom) check(item object, report *Report) {
	properties, known := c[item.GroupVersionKind()]
	if !known {
		return
	}
	shape, err := structural.NewStructural(properties)
	if err != nil {
		report.fail(item.file, item.where(), "its definition cannot be used: %v", err)
		return
	}
	validator, _, err := validation.NewSchemaValidator(properties)
	if err != nil {
		report.fail(item.file, item.where(), "its definition cannot be used: %v", err)
		return
	}
	content := item.DeepCopy().Object
	defaulting.PruneNonNullableNullsWithoutDefaults(content, shape)
	unknown := pruning.PruneWithOptions(content, shape, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		report.fail(item.file, item.where(), "unknown field %q", path)
	}
	defaulting.Default(content, shape)

	var problems field.ErrorList
	if err := objectmeta.Coerce(nil, content, shape, true, false); err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, validation.ValidateCustomResource(nil, content, validator)...)
	problems = append(problems, objectmeta.Validate(context.Background(), nil, content, shape, false)...)
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, shape, content)...)
	if rules := cel.NewValidator(shape, true, celconfig.PerCallLimit); len(problems) == 0 && rules != nil {
		broken, _ := rules.Validate(context.Background(), nil, shape, content, nil, celconfig.RuntimeCELCostBudget)
		problems = append(problems, broken...)
	}
	for _, problem := range problems {
		report.fail(item.file, item.where(), "%v", problem)
	}
}
