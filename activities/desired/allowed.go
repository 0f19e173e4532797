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
