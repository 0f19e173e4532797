package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// templates validates ModuleTemplates.
type templates struct {
	permissive[*v1beta2.ModuleTemplate]
	settings desired.Settings
}

// ValidateCreate refuses a template that could not be used.
func (v templates) ValidateCreate(_ context.Context, template *v1beta2.ModuleTemplate) (admission.Warnings, error) {
	if passes(v.settings, template) {
		return nil, nil
	}
	return nil, refused(shared.KindModuleTemplate, template, slices.Concat(descriptor.ValidateTemplate(template), nameless(template), noPriority(template)))
}

// ValidateUpdate refuses what ValidateCreate refuses, and a new version under the same name. Edits of neither the spec
// nor the priority pass, so that a stored template can still be labeled and released.
func (v templates) ValidateUpdate(_ context.Context, before, after *v1beta2.ModuleTemplate) (admission.Warnings, error) {
	if passes(v.settings, after) {
		return nil, nil
	}
	var problems field.ErrorList
	if before.Annotations[shared.AnnotationPriority] != after.Annotations[shared.AnnotationPriority] {
		problems = noPriority(after)
	}
	if equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil, refused(shared.KindModuleTemplate, after, problems)
	}
	problems = slices.Concat(problems, movedInPlace(before, after), descriptor.ValidateTemplate(after))
	if !equality.Semantic.DeepEqual(before.Spec.Data, after.Spec.Data) {
		problems = append(problems, nameless(after)...)
	}
	return nil, refused(shared.KindModuleTemplate, after, problems)
}

// movedInPlace refuses another version under the same name if ModuleReleaseMetas assign versions to channels. A release
// meta refers to a version, and a Kyma on that version would get another one. A template with a channel is the one file
// of that channel, so its version may change.
func movedInPlace(before, after *v1beta2.ModuleTemplate) field.ErrorList {
	if before.Spec.Channel != "" && after.Spec.Channel != "" {
		return nil
	}
	was, is := desired.TemplateVersion(before), desired.TemplateVersion(after)
	if was == "" || strings.TrimPrefix(was, "v") == strings.TrimPrefix(is, "v") {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "version"), fmt.Sprintf(
		"must not change from %s to %q: a ModuleTemplate without spec.channel keeps its version; "+
			"create another ModuleTemplate for the other version", was, is))}
}

// nameless refuses a default custom resource without a name. If the template is already stored, or there is no webhook,
// the resource gets the name of its Manifest (docs/contract.md#namespaces-and-defaults). That name does not show what
// the resource is for.
func nameless(template *v1beta2.ModuleTemplate) field.ErrorList {
	object, err := template.Spec.DefaultCR()
	if err != nil || object == nil || object.GetName() != "" {
		return nil
	}
	return field.ErrorList{field.Required(field.NewPath("spec", "data", "metadata", "name"), "the default custom resource must have a name")}
}

// noPriority refuses an unknown priority, which would have no effect. ValidateUpdate calls it only if the annotation
// changed.
func noPriority(template *v1beta2.ModuleTemplate) field.ErrorList {
	if _, err := shared.IsHotFix(template.Annotations); err != nil {
		at := field.NewPath("metadata", "annotations").Key(shared.AnnotationPriority)
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, err.Error())}
	}
	return nil
}
