package resolve

import (
	"context"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// noteHeldBack writes on the Manifest of a mandatory module why the module does not get the version that its rollout
// releases, because no Kyma's status shows it. A note about another version stays, because nothing reads it.
func (a *Activities) noteHeldBack(ctx context.Context, plan *planning.ModulePlan) error {
	if plan.HeldBack == nil || plan.Existing == nil {
		return nil
	}
	text := plan.HeldBack.Text()
	if plan.Existing.Annotations[rollout.AnnotationHeldBack] == text {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": plan.Existing.UID, "annotations": map[string]string{rollout.AnnotationHeldBack: text},
	}})
	if err != nil {
		return fmt.Errorf("encode why %s is held back: %w", planning.Describe(plan.Existing), err)
	}
	m := &v1beta2.Manifest{}
	m.Namespace, m.Name = plan.Existing.Namespace, plan.Existing.Name
	err = a.ControlPlane.Patch(ctx, m, client.RawPatch(mergePatch, patch), client.FieldOwner(shared.FieldManagerLifecycleManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("note why %s is held back: %w", planning.Describe(plan.Existing), err)
	}
	return nil
}
