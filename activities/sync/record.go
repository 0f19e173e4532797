package sync

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// recordPlace records where the Kyma is synchronized to, before anything is written there. The first synchronization
// fixes name, namespace and generation. An object in that place must not belong to another Kyma, because the record
// decides in which cluster the Kyma's modules may be installed.
func (a *Activities) recordPlace(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) error {
	recorded := v1beta2.RemoteStatus{}
	if kyma.Status.Remote != nil {
		recorded = *kyma.Status.Remote.DeepCopy()
	}
	if kyma.Status.Remote != nil && recorded.Cluster == string(r.UID) {
		return nil
	}
	if err := a.checkNotOwned(ctx, kyma, s, r); err != nil {
		return err
	}
	recorded.Name, recorded.Namespace, recorded.Generation = s.Name, s.Namespace, s.Generation
	recorded.Cluster = string(r.UID)
	return a.record(ctx, kyma, recorded)
}

// record writes the record of the remote Kyma into the status, at the resourceVersion that was read, together with other
// changes. Each change may be nil.
func (a *Activities) record(ctx context.Context, kyma *v1beta2.Kyma, place v1beta2.RemoteStatus, changes ...func(*v1beta2.KymaStatus)) error {
	before := kyma.DeepCopy()
	kyma.Status.Remote = &place
	for _, change := range changes {
		if change != nil {
			change(&kyma.Status)
		}
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.ControlPlane.Status().Patch(ctx, kyma, patch, client.FieldOwner(shared.FieldManagerLifecycleManager)); err != nil {
		*kyma = *before
		return fmt.Errorf("record the remote Kyma in the status of Kyma %s: %w", desired.NameOf(kyma), err)
	}
	return nil
}
