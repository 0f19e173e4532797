package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// kymas warns about edits of Kymas. It refuses nothing; the schema does.
type kymas struct {
	settings desired.Settings
}

var _ admission.Validator[*v1beta2.Kyma] = kymas{}

// ValidateCreate has nothing to say: no remote side decides yet.
func (v kymas) ValidateCreate(context.Context, *v1beta2.Kyma) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate warns where channel or modules are changed in the control plane, but the remote Kyma alone
// decides about them (docs/contract.md#the-remote-kyma).
func (v kymas) ValidateUpdate(_ context.Context, before, after *v1beta2.Kyma) (admission.Warnings, error) {
	if desired.IsSyncedCopy(after) || !v.settings.Ours(after.Labels) || !after.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	sync := desired.SyncOf(after, v.settings)
	unchanged := before.Spec.Channel == after.Spec.Channel &&
		equality.Semantic.DeepEqual(before.Spec.Modules, after.Spec.Modules)
	if !desired.RemoteDecides(after, sync) || unchanged {
		return nil, nil
	}
	return admission.Warnings{desired.EditIgnoredMessage(sync)}, nil
}

// ValidateDelete has nothing to say.
func (v kymas) ValidateDelete(context.Context, *v1beta2.Kyma) (admission.Warnings, error) {
	return nil, nil
}
