package desired

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Denied says why this Kyma may not have a module: shared.MessageInternalModule, MessageBetaModule or
// MessageRestrictedModule; empty when it may (contract, sections 3 and 4). The release meta is nil where
// the module has none. A selector that cannot be read selects nobody.
func (s Settings) Denied(kyma *v1beta2.Kyma, template *v1beta2.ModuleTemplate, meta *v1beta2.ModuleReleaseMeta) string {
	internal, beta := false, false
	if template != nil {
		internal = template.Labels[shared.LabelInternal] == shared.ValueTrue
		beta = template.Labels[shared.LabelBeta] == shared.ValueTrue
	}
	if meta != nil {
		internal = internal || meta.Spec.Internal
		beta = beta || meta.Spec.Beta
	}
	switch {
	case internal && !kyma.IsInternal():
		return shared.MessageInternalModule
	case beta && !kyma.IsBeta():
		return shared.MessageBetaModule
	case !s.selected(kyma, template, meta):
		return shared.MessageRestrictedModule
	}
	return ""
}

func (s Settings) selected(kyma *v1beta2.Kyma, template *v1beta2.ModuleTemplate, meta *v1beta2.ModuleReleaseMeta) bool {
	var selector *metav1.LabelSelector
	name := ""
	if template != nil {
		name = ModuleNameOf(template)
	}
	if meta != nil {
		selector = meta.Spec.KymaSelector
		name = ReleaseMetaModule(meta)
	}
	if selector == nil {
		return !slices.Contains(s.RestrictedModules, name)
	}
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false
	}
	return matcher.Matches(labels.Set(kyma.Labels))
}

// ModulesFor names the modules of a catalog that a Kyma may list: those that are not mandatory, of this instance and
// allowed to it.
func (s Settings) ModulesFor(kyma *v1beta2.Kyma, templates []v1beta2.ModuleTemplate, metas []v1beta2.ModuleReleaseMeta) []string {
	spoken := map[string]bool{} // modules that a release meta speaks for
	var names []string
	for i := range metas {
		meta := &metas[i]
		if !s.Ours(meta.Labels) || IsSyncedCopy(meta) {
			continue
		}
		name := ReleaseMetaModule(meta)
		spoken[name] = true
		if meta.Spec.Mandatory == nil && s.Denied(kyma, nil, meta) == "" {
			names = append(names, name)
		}
	}
	for i := range templates {
		template := &templates[i]
		name := ModuleNameOf(template)
		_, byHand := TakenFrom(template)
		if name != "" && !spoken[name] && !byHand && s.Ours(template.Labels) && !IsSyncedCopy(template) && !IsMandatory(template) &&
			s.Denied(kyma, template, nil) == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
