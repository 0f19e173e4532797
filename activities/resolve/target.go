package resolve

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/resolve/planning"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// recordTarget records where a Manifest goes into its status, where that does not say so. It needs no resource version: what
// it says is about one spec, whichever the Manifest has by now.
func (a *Activities) recordTarget(ctx context.Context, t *planning.Destination, manifest *v1beta2.Manifest) error {
	if !t.Differs(manifest) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": manifest.UID}, "status": map[string]any{"target": t.Record},
	})
	if err != nil {
		return fmt.Errorf("encode the target of %s: %w", planning.Describe(manifest), err)
	}
	now := &v1beta2.Manifest{}
	now.Name, now.Namespace = manifest.Name, manifest.Namespace
	err = a.ControlPlane.Status().Patch(ctx, now, client.RawPatch(mergePatch, patch), client.FieldOwner(shared.FieldManagerLifecycleManager))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("record the target of %s: %w", planning.Describe(manifest), err)
	}
	return nil
}
