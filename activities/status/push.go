package status

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// pushAndNote writes the remote copy of the status. Where that shows that the cluster answers again, the status says
// so, here and there.
func (a *Activities) pushAndNote(ctx context.Context, o observation) (bool, fault.Fault, error) {
	pushed, failed := a.push(ctx, o.kyma, o.view.Sync)
	if _, out := outOfReach(o.kyma.Status.Remote, o); !pushed || !out && o.in.Sync.IsZero() {
		return pushed, failed, nil
	}
	before := o.kyma.DeepCopy()
	o.in.Sync, o.answered = fault.Fault{}, true
	o.kyma.Status = next(o)
	if err := a.write(ctx, before, o.kyma, told{reasons: refusals(o.view), of: o.worst().Reason}); err != nil {
		return false, fault.Fault{}, err
	}
	pushed, failed = a.push(ctx, o.kyma, o.view.Sync)
	return pushed, failed, nil
}

// push writes the remote copy of the status where it differs. A remote Kyma that is gone, or is not the one
// that was taken in, is left to the next synchronization. It tells whether the cluster answered.
func (a *Activities) push(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync) (bool, fault.Fault) {
	remote := kyma.Status.Remote
	if !desired.TakenIn(kyma) || !s.Enabled {
		return false, fault.Fault{}
	}
	there := a.controlPlane
	if s.Strategy != v1beta2.SyncStrategyLocalClient {
		cluster, err := a.clusters.Reach(ctx, kyma.Namespace, kyma.Name)
		if err != nil {
			return false, fault.Of(err)
		}
		there = cluster.Client
	}
	failed := fault.Of(clusters.Classify(pushStatus(ctx, there, kyma, types.NamespacedName{Namespace: remote.Namespace, Name: remote.Name})))
	return failed.IsZero(), failed
}

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
