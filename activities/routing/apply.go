package routing

import (
	"context"
	"encoding/json"
	"fmt"

	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// carryOut creates, updates or removes the VirtualService as planned. If the control plane refuses the change, the
// returned plan says so.
func (a *Activities) carryOut(ctx context.Context, s Situation, p Plan) (Plan, error) {
	switch {
	case p.Remove && s.Present != nil && isOurs(s.Present, s.Watcher):
		_, err := a.remove(ctx, s.Watcher)
		return p, err
	case p.Want == nil || isAsWanted(s.Present, p.Want):
		return p, nil
	}
	err := a.apply(ctx, s.Present, p.Want)
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return failed(EventRefused, "%v", err), fault.New(fault.Rejected, EventRefused, "%w", err)
	case apierrors.IsForbidden(err):
		// A missing permission, a quota or an admission webhook refused the change. Only people can fix that, but not by
		// changing the Watcher.
		refused := fault.New(fault.Transient, EventRefused, "%w", err)
		refused.SlowRetry = true
		return failed(EventRefused, "%v", err), refused
	}
	return p, err
}

// apply applies the VirtualService. If others added fields to its spec, apply removes these fields too, because they
// decide where events go.
func (a *Activities) apply(ctx context.Context, present, want *networkingv1.VirtualService) error {
	content, err := encode(want)
	if err != nil {
		return err
	}
	if present != nil {
		content.SetUID(present.UID) // do not update a replacement
	}
	err = a.options.ControlPlane.Apply(ctx, client.ApplyConfigurationFromUnstructured(content),
		client.FieldOwner(shared.FieldManagerLifecycleManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply VirtualService %s/%s: %w", want.Namespace, want.Name, err)
	}
	body, err := json.Marshal(content.Object)
	if err != nil {
		return fmt.Errorf("decode VirtualService %s/%s: %w", want.Namespace, want.Name, err)
	}
	now := &networkingv1.VirtualService{}
	if err := json.Unmarshal(body, now); err != nil {
		return fmt.Errorf("decode VirtualService %s/%s: %w", want.Namespace, want.Name, err)
	}
	if isAsWanted(now, want) {
		return nil
	}
	return a.overwrite(ctx, now, want)
}

// overwrite replaces the whole spec of a VirtualService, provided that it has not changed since it was read.
func (a *Activities) overwrite(ctx context.Context, now, want *networkingv1.VirtualService) error {
	spec, err := encode(want)
	if err != nil {
		return err
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": now.ResourceVersion},
		{"op": "replace", "path": "/spec", "value": spec.Object["spec"]},
	})
	if err != nil {
		return fmt.Errorf("encode VirtualService %s/%s: %w", want.Namespace, want.Name, err)
	}
	err = a.options.ControlPlane.Patch(ctx, now, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(shared.FieldManagerLifecycleManager))
	if err != nil {
		return fmt.Errorf("restore VirtualService %s/%s: %w", want.Namespace, want.Name, err)
	}
	return nil
}
