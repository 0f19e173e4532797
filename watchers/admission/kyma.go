package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// kymas validates edits of Kymas. It refuses only a deferral that cannot be parsed, which the schema cannot check. It
// has no warning for new Kymas, because no remote Kyma decides yet, and no upgrade can be deferred yet.
type kymas struct {
	permissive[*v1beta2.Kyma]
	settings desired.Settings
}

// checkDeferral returns the problems of the annotation that defers upgrades.
func checkDeferral(kyma *v1beta2.Kyma) field.ErrorList {
	text := kyma.Annotations[shared.AnnotationDeferUpgradesUntil]
	if _, err := rollout.ParseDeferrals(text); err != nil {
		path := field.NewPath("metadata", "annotations").Key(shared.AnnotationDeferUpgradesUntil)
		return field.ErrorList{field.Invalid(path, text[:min(len(text), shownDeferral)], err.Error())}
	}
	return nil
}

// shownDeferral is how many bytes of an invalid deferral are shown.
const shownDeferral = 200

// ValidateUpdate refuses a new deferral that cannot be parsed. It warns about an edit of channel or modules in the
// control plane if the remote Kyma alone decides about them (docs/contract.md#the-remote-kyma).
func (v kymas) ValidateUpdate(_ context.Context, before, after *v1beta2.Kyma) (admission.Warnings, error) {
	if passes(v.settings, after) {
		return nil, nil
	}
	if before.Annotations[shared.AnnotationDeferUpgradesUntil] != after.Annotations[shared.AnnotationDeferUpgradesUntil] {
		if err := refused(shared.KindKyma, after, checkDeferral(after)); err != nil {
			return nil, err
		}
	}
	sync := desired.SyncOf(after, v.settings)
	unchanged := before.Spec.Channel == after.Spec.Channel &&
		equality.Semantic.DeepEqual(before.Spec.Modules, after.Spec.Modules)
	if !desired.RemoteDecides(after, sync) || unchanged {
		return nil, nil
	}
	return admission.Warnings{desired.EditIgnoredMessage(sync)}, nil
}
