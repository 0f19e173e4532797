package status

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/requeue"
)

// write writes the status at the resourceVersion that was read, unless it is unchanged. It then records Events for the
// transitions. It reports whether it wrote.
func (a *Activities) write(ctx context.Context, before, kyma *v1beta2.Kyma, t eventDetails) (bool, error) {
	if equality.Semantic.DeepEqual(before.Status, kyma.Status) {
		return false, nil
	}
	wanted := kyma.Status
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := a.ControlPlane.Status().Patch(ctx, kyma, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	if err != nil {
		return false, fmt.Errorf("write the status of Kyma %s/%s: %w", kyma.Namespace, kyma.Name, err)
	}
	if before.Status.State != wanted.State {
		switch {
		case wanted.State == shared.StateDeleting:
			requeue.Wrote(ctx, requeue.KymaDeleting)
		case before.Status.State == shared.StateUnknown:
			requeue.Wrote(ctx, requeue.KymaInitialState)
		}
	}
	a.record(kyma, merged(transitions(before.Status, wanted, t)))
	return true, nil
}

// refusals returns the reasons of refused modules by name.
func refusals(view resolve.View) map[string]string {
	reasons := map[string]string{}
	for _, plan := range view.Modules {
		if plan.Refusal != nil {
			reasons[plan.Name] = plan.Refusal.Reason
		}
	}
	return reasons
}
