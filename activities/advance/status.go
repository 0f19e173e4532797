package advance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// Reasons of Events on a ModuleRollout.
const (
	// EventRolloutHeld: the rollout stopped automatically. The status says why.
	EventRolloutHeld = "RolloutHeld"
	// EventRolloutProgressed: a stage began, or the rollout ended.
	EventRolloutProgressed = "RolloutProgressed"
)

// report writes the status of a rollout at the resourceVersion that was read, unless it is unchanged.
func (a *Activities) report(ctx context.Context, before, r *v1beta2.ModuleRollout) error {
	if equality.Semantic.DeepEqual(before.Status, r.Status) {
		return nil
	}
	after := r.Status
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := a.ControlPlane.Status().Patch(ctx, r, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	switch {
	case apierrors.IsNotFound(err):
		return nil // the rollout is gone, so nobody reads its status
	case apierrors.IsConflict(err):
		return fault.New(fault.Transient, clusters.ReasonConflict, "write the status of ModuleRollout %s/%s: %w", r.Namespace, r.Name, err)
	case err != nil:
		return fmt.Errorf("write the status of ModuleRollout %s/%s: %w", r.Namespace, r.Name, err)
	}
	a.record(r, before.Status, after)
	a.recordPromotion(r, before.Status.Promotion, after.Promotion)
	return nil
}

// record records Events about changes of a status. Events are for people and may get lost.
func (a *Activities) record(r *v1beta2.ModuleRollout, before, after v1beta2.ModuleRolloutStatus) {
	if a.Events == nil || before.Phase == after.Phase && before.Stage == after.Stage {
		return
	}
	what := fmt.Sprintf("module %s %s: %s", r.Spec.ModuleName, r.Spec.To, after.Phase)
	if after.StageName != "" {
		what += ", stage " + after.StageName
	}
	if after.WaitsFor != "" {
		what += ": " + after.WaitsFor
	}
	if after.Phase == v1beta2.RolloutHeld {
		hint.Record(a.Events, r, corev1.EventTypeWarning, EventRolloutHeld, what, hint.For(EventRolloutHeld))
		return
	}
	hint.Record(a.Events, r, corev1.EventTypeNormal, EventRolloutProgressed, what, "")
}
