package descriptor

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/registry/statecheck"
)

// IsEmpty reports whether a template embeds no descriptor, so that the descriptor is fetched: the field is missing,
// null or `{}`.
func IsEmpty(embedded *runtime.RawExtension) bool {
	if embedded == nil || len(bytes.TrimSpace(embedded.Raw)) == 0 {
		return true
	}
	var content map[string]json.RawMessage
	return json.Unmarshal(embedded.Raw, &content) == nil && len(content) == 0
}

// ValidateTemplate returns the problems of a ModuleTemplate that its schema cannot express. An empty descriptor is
// fetched and validated later. The paths are in the ModuleTemplate.
func ValidateTemplate(template *v1beta2.ModuleTemplate) field.ErrorList {
	spec := field.NewPath("spec")
	problems := append(validateDefaultCR(template, spec.Child("data")), validateStateChecks(template, spec.Child("customStateCheck"))...)
	if IsEmpty(template.Spec.Descriptor) {
		return problems
	}
	at := spec.Child("descriptor")
	parsed, err := Parse(template.Spec.Descriptor.Raw)
	if err != nil {
		return append(problems, ProblemsOf(err, at)...)
	}
	return append(problems, prefixed(Validate(parsed, Expectations{
		Version: template.Spec.Version, Module: template.Spec.ModuleName,
	}), at)...)
}

// validateStateChecks requires valid paths.
func validateStateChecks(template *v1beta2.ModuleTemplate, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	for i, check := range template.Spec.CustomStateCheck {
		if _, err := statecheck.Parse(check.JSONPath); err != nil {
			problems = append(problems, field.Invalid(at.Index(i).Child("jsonPath"), field.OmitValueType{}, err.Error()))
		}
	}
	return problems
}

// MaxDefaultCRBytes is the greatest size of a default custom resource as JSON. It is part of the Manifest, and must fit
// into etcd together with the Manifest's inventory.
const MaxDefaultCRBytes = 256 << 10

// validateDefaultCR validates the default custom resource. The name may be missing: the resource then gets the
// Manifest's name (docs/contract.md#namespaces-and-defaults). An existing name must be a string.
func validateDefaultCR(template *v1beta2.ModuleTemplate, at *field.Path) field.ErrorList {
	if IsEmpty(template.Spec.Data) {
		return nil
	}
	if len(template.Spec.Data.Raw) > MaxDefaultCRBytes {
		return field.ErrorList{field.TooLong(at, "", MaxDefaultCRBytes)}
	}
	var content struct {
		APIVersion any `json:"apiVersion"`
		Kind       any `json:"kind"`
		Metadata   any `json:"metadata"`
	}
	if err := json.Unmarshal(template.Spec.Data.Raw, &content); err != nil {
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("%v: must be an object", v1beta2.ErrDefaultCR))}
	}
	var problems field.ErrorList
	for _, wanted := range []struct {
		name  string
		value any
	}{{"apiVersion", content.APIVersion}, {"kind", content.Kind}} {
		if text, isText := wanted.value.(string); !isText || text == "" {
			problems = append(problems, field.Required(at.Child(wanted.name), "of the default custom resource"))
		}
	}
	if content.Metadata == nil {
		return problems
	}
	metadata, isObject := content.Metadata.(map[string]any)
	if !isObject {
		return append(problems, field.Invalid(at.Child("metadata"), field.OmitValueType{}, "must be an object"))
	}
	for _, name := range []string{"name", "namespace"} {
		if value, given := metadata[name]; given && value != nil {
			if _, isText := value.(string); !isText {
				problems = append(problems, field.Invalid(at.Child("metadata", name), field.OmitValueType{}, "must be text"))
			}
		}
	}
	return problems
}
