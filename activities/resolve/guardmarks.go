package resolve

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// EventRemovalHeld: a change of this template or release meta would remove a module from too many Kymas.
const EventRemovalHeld = "RemovalHeld"

// markGuarded marks the template or release meta as waiting for approval, once per change, and records an Event.
func (a *Activities) markGuarded(ctx context.Context, guarded *planning.GuardedRemoval) error {
	var now client.Object = &v1beta2.ModuleTemplate{}
	if desired.KindOf(guarded.Cause) == shared.KindModuleReleaseMeta {
		now = &v1beta2.ModuleReleaseMeta{}
	}
	err := a.ControlPlane.Get(ctx, client.ObjectKeyFromObject(guarded.Cause), now)
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("read %s %s: %w", desired.KindOf(guarded.Cause), desired.NameOf(guarded.Cause), err))
	}
	if now.GetUID() != guarded.Cause.GetUID() || changeOf(now, a.Settings) != guarded.Change || now.GetAnnotations()[desired.AnnotationGuardedChange] == guarded.Change {
		return nil // the object changed again, or another reconcile has marked it already
	}
	version := now.GetResourceVersion()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": version,
		"annotations":     map[string]string{desired.AnnotationGuardedRemoval: version, desired.AnnotationGuardedChange: guarded.Change},
	}})
	if err != nil {
		return err
	}
	err = a.ControlPlane.Patch(ctx, now, client.RawPatch(mergePatch, patch), client.FieldOwner(shared.FieldManagerLifecycleManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the object changed meanwhile, which causes another reconcile
	}
	if err != nil {
		return fmt.Errorf("note on %s %s that removals wait for approval: %w", desired.KindOf(now), desired.NameOf(now), err)
	}
	a.record(now, EventRemovalHeld, fmt.Sprintf("%d Kymas would lose a module by this change, more than the limit of %d; nothing is removed until somebody approves change %s in RemovalBudget %s",
		guarded.Kymas, guarded.Limit, version, budget.Key(a.Settings)), hint.For(EventRemovalHeld))
	if a.Budget == nil {
		return nil
	}
	return a.Budget.Ensure(ctx)
}

// paced reports whether a removal that the catalog causes may begin now. If not, the result says when to reconcile again.
// These times are spread over the time that the removals of all affected Kymas take at the rate limit.
func (a *Activities) paced(manifest *v1beta2.Manifest, affected int, result *Result) bool {
	guard := a.planner.guard
	reservation := guard.rate.Reserve()
	delay := reservation.Delay()
	if delay == 0 {
		return true
	}
	reservation.Cancel()
	all := time.Duration(affected) * time.Minute / time.Duration(guard.limits.PerMinute)
	share := desired.PacingDelay(manifest.UID, "removal", all)
	result.Paced = true
	result.reconcileAt(guard.now().Add(delay+share), "removals at a limited rate")
	return false
}
