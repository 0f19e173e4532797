package status

import (
	"context"
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/activity"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// pushAndNote writes the remote copy of the status. If the write shows that the cluster answers again, pushAndNote
// updates both statuses.
func (a *Activities) pushAndNote(ctx context.Context, o observation, changed bool) (bool, fault.Fault, error) {
	pushed, failed := a.push(ctx, o.kyma, o.view.Sync, changed)
	if mayBeOurs(ctx, failed) {
		return false, fault.Fault{}, fault.New(fault.Transient, failed.Reason, "%s", failed.Message)
	}
	if _, out := outOfReach(o.kyma.Status.Remote, o); !pushed || !out && o.in.Faults[fault.PartSync].IsZero() {
		return pushed, failed, nil
	}
	before := o.kyma.DeepCopy()
	o.in.Faults, o.answered = o.in.Faults.With(fault.PartSync, fault.Fault{}), true
	o.kyma.Status = next(o)
	changed, err := a.write(ctx, before, o.kyma, eventDetails{reasons: refusals(o.view), of: o.worst().Reason})
	if err != nil {
		return false, fault.Fault{}, err
	}
	pushed, failed = a.push(ctx, o.kyma, o.view.Sync, changed)
	return pushed, failed, nil
}

// mayBeOurs reports whether a failed push is worth another attempt before the cluster is blamed. A push within a workflow
// task has little time, and another attempt follows from a task queue.
func mayBeOurs(ctx context.Context, failed fault.Fault) bool {
	return activity.IsActivity(ctx) && activity.GetInfo(ctx).IsLocalActivity &&
		(failed.Kind == fault.Transient || failed.Reason == clusters.ReasonUnreachableTimeout)
}

// push writes the remote copy of the status. If the status has not just changed, push writes only if the copy differs. A
// remote Kyma that is gone, or is not the accepted one, is left to the next synchronization. push reports whether the
// cluster answered.
func (a *Activities) push(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, changed bool) (bool, fault.Fault) {
	remote := kyma.Status.Remote
	if !desired.IsAccepted(kyma) || !s.Enabled {
		return false, fault.Fault{}
	}
	there := a.ControlPlane
	if s.Strategy != v1beta2.SyncStrategyLocalClient {
		cluster, err := a.Clusters.Reach(ctx, kyma.Namespace, kyma.Name)
		if err != nil {
			return false, fault.Of(err)
		}
		there = cluster.Client
	}
	key := types.NamespacedName{Namespace: remote.Namespace, Name: remote.Name}
	var err error
	if changed {
		err = replaceStatus(ctx, there, kyma, key)
	}
	if !changed || apierrors.IsInvalid(err) {
		err = pushStatus(ctx, there, kyma, key)
	}
	failed := fault.Of(clusters.Classify(err))
	return failed.IsZero(), failed
}

// replaceStatus writes the whole copy without reading it first. The API server tests whether this is the accepted remote
// Kyma. If it is not, the request is invalid.
func replaceStatus(ctx context.Context, there client.Client, kyma *v1beta2.Kyma, key types.NamespacedName) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": kyma.Status.Remote.UID},
		{"op": "add", "path": "/status", "value": desired.RemoteStatus(kyma)},
	})
	if err != nil {
		return fmt.Errorf("encode the status of remote Kyma %s: %w", key, err)
	}
	target := &v1beta2.Kyma{}
	target.Namespace, target.Name = key.Namespace, key.Name
	err = there.Status().Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(shared.FieldManagerRemoteKyma))
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return fmt.Errorf("write the status of remote Kyma %s: %w", key, err)
	}
	return nil
}

// pushStatus reads the copy, and writes it if it differs.
func pushStatus(ctx context.Context, there client.Client, kyma *v1beta2.Kyma, key types.NamespacedName) error {
	found := &v1beta2.Kyma{}
	err := there.Get(ctx, key, found)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || err == nil && string(found.UID) != kyma.Status.Remote.UID {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read remote Kyma %s: %w", key, err)
	}
	wanted := desired.RemoteStatus(kyma)
	if equality.Semantic.DeepEqual(found.Status, wanted) {
		return nil
	}
	found.Status = wanted
	if err := there.Status().Update(ctx, found, client.FieldOwner(shared.FieldManagerRemoteKyma)); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the status of remote Kyma %s: %w", key, err)
	}
	return nil
}
