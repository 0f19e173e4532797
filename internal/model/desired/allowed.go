package desired

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Denied returns why this Kyma may not have a module: shared.MessageInternalModule, MessageBetaModule,
// MessageRestrictedModule or MessageSelectorNotRestricted. It returns an empty string if the Kyma may have the module
// (docs/contract.md#messages). The release meta is nil if the module has none. An empty or invalid selector selects no
// Kyma.
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
	default:
		return s.restricted(kyma, template, meta)
	}
}

// restricted returns why this Kyma may not have a module that is only for selected Kymas. It fails closed: only a
// selector that matches this Kyma permits the module. If a module has a selector but is not in
// --restricted-default-modules, one of the two is a mistake, so the module is denied.
func (s Settings) restricted(kyma *v1beta2.Kyma, template *v1beta2.ModuleTemplate, meta *v1beta2.ModuleReleaseMeta) string {
	var selector *metav1.LabelSelector
	name := ""
	if template != nil {
		name = ModuleNameOf(template)
	}
	if meta != nil {
		selector = meta.Spec.KymaSelector
		name = ReleaseMetaModule(meta)
	}
	listed := slices.Contains(s.RestrictedModules, name)
	switch {
	case selector == nil && !listed:
		return ""
	case !listed:
		return shared.MessageSelectorNotRestricted
	case selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0:
		return shared.MessageRestrictedModule
	}
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || !matcher.Matches(labels.Set(kyma.Labels)) {
		return shared.MessageRestrictedModule
	}
	return ""
}

// ModulesFor returns the names of the modules in a catalog that a Kyma may list: modules of this instance that are not
// mandatory and that the Kyma may have.
func (s Settings) ModulesFor(kyma *v1beta2.Kyma, templates []v1beta2.ModuleTemplate, metas []v1beta2.ModuleReleaseMeta) []string {
	byMeta := map[string]bool{} // modules that have a release meta
	var names []string
	for i := range metas {
		meta := &metas[i]
		if !s.Ours(meta.Labels) || IsSyncedCopy(meta) {
			continue
		}
		name := ReleaseMetaModule(meta)
		byMeta[name] = true
		if meta.Spec.Mandatory == nil && s.Denied(kyma, nil, meta) == "" {
			names = append(names, name)
		}
	}
	for i := range templates {
		template := &templates[i]
		name := ModuleNameOf(template)
		_, imported := ImportedFrom(template)
		if name != "" && !byMeta[name] && !imported && s.Ours(template.Labels) && !IsSyncedCopy(template) && !IsMandatory(template) &&
			s.Denied(kyma, template, nil) == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
