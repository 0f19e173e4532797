package resolve

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/hint"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// EventRemovalHeld is the reason of the Event on a template or release meta whose change would remove a module
// from too many Kymas.
const EventRemovalHeld = "RemovalHeld"

// hold notes on the template or release meta that removals are held, once per change, and tells people.
func (a *Activities) hold(ctx context.Context, held *Hold) error {
	var now client.Object = &v1beta2.ModuleTemplate{}
	if kindOf(held.Cause) == shared.KindModuleReleaseMeta {
		now = &v1beta2.ModuleReleaseMeta{}
	}
	err := a.controlPlane.Get(ctx, client.ObjectKeyFromObject(held.Cause), now)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s %s: %w", kindOf(held.Cause), nameOf(held.Cause), err)
	}
	if now.GetUID() != held.Cause.GetUID() || changeOf(now, a.settings) != held.Change || now.GetAnnotations()[desired.AnnotationHeldChange] == held.Change {
		return nil // it changed again, or somebody noted it already
	}
	version := now.GetResourceVersion()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": version,
		"annotations":     map[string]string{desired.AnnotationHeldRemoval: version, desired.AnnotationHeldChange: held.Change},
	}})
	if err != nil {
		return err
	}
	err = a.controlPlane.Patch(ctx, now, client.RawPatch(mergePatch, patch), client.FieldOwner(shared.FieldManagerLifecycleManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // it changed meanwhile, which is a reason for another look
	}
	if err != nil {
		return fmt.Errorf("note on %s %s that removals are held: %w", kindOf(now), nameOf(now), err)
	}
	a.tell(now, EventRemovalHeld, fmt.Sprintf("%d Kymas would lose a module by this change, which is more than %d: nothing is removed until the annotation %s has the value %s",
		held.Kymas, held.Limit, desired.AnnotationApproveRemoval, version), hint.For(EventRemovalHeld))
	return nil
}

// tell records a warning, with what can be done about it. It is for people and may get lost.
func (a *Activities) tell(object client.Object, reason, message, todo string) {
	if a.events != nil {
		hint.Record(a.events, object, corev1.EventTypeWarning, reason, message, todo)
	}
}

// paced tells whether a removal that the catalog causes may begin now. If not, the result says when to look again:
// the Kymas that lose a module by the same change share the time that this takes.
func (a *Activities) paced(manifest *v1beta2.Manifest, atOnce int, result *Result) bool {
	gate := a.planner.gate
	reservation := gate.rate.Reserve()
	delay := reservation.Delay()
	if delay == 0 {
		return true
	}
	reservation.Cancel()
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(manifest.UID))
	all := time.Duration(atOnce) * time.Minute / time.Duration(gate.limits.PerMinute)
	share := time.Duration(float64(all) * float64(hash.Sum32()%10_000) / 10_000)
	result.Paced = true
	result.lookAgain(gate.now().Add(delay+share), "removals at a limited rate")
	return false
}

// elsewhereCheck is how soon it is looked again whether what a module is refused for has changed elsewhere: whether
// the registry has the component version, or a shared module the wanted version. Of the latter watchers tell at once;
// what they miss, and a module that nobody has any more, is found so.
const elsewhereCheck = 15 * time.Minute

// lookAgain asks for another look, at the earliest of all times that were asked for.
func (r *Result) lookAgain(at time.Time, why string) {
	if at.IsZero() || !r.NextLook.IsZero() && !at.Before(r.NextLook) {
		return
	}
	r.NextLook, r.NextLookFor = at, why
}
