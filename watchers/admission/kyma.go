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

// kymas warns about edits of Kymas. It refuses only what no schema is for: a deferral that cannot be read. It has nothing to
// say about new ones: no remote side decides yet, and nothing is installed whose upgrade could be put off.
type kymas struct {
	permissive[*v1beta2.Kyma]
	settings desired.Settings
}

// checkDeferral says what is wrong with the annotation by which upgrades are put off.
func checkDeferral(kyma *v1beta2.Kyma) field.ErrorList {
	text := kyma.Annotations[shared.AnnotationDeferUpgradesUntil]
	if _, err := rollout.ParseDeferrals(text); err != nil {
		path := field.NewPath("metadata", "annotations").Key(shared.AnnotationDeferUpgradesUntil)
		return field.ErrorList{field.Invalid(path, text[:min(len(text), shownDeferral)], err.Error())}
	}
	return nil
}

// shownDeferral is how much of a deferral that cannot be read is shown, in bytes.
const shownDeferral = 200

// ValidateUpdate refuses a new deferral that cannot be read, and warns where channel or modules are changed in the control plane, but the remote Kyma alone
// decides about them (docs/contract.md#the-remote-kyma).
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
