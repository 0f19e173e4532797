package sync

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// A change of the catalog causes thousands of synchronizations, and each has to write only two or three objects. They
// need not ask each cluster again for its identity, its namespace and our CRDs: the remote Kyma's uid is unique, so it
// proves that the cluster is the same and that these objects exist. If one of them was edited but not deleted, the next
// synchronization for another reason finds it.

// recognize reads the remote Kyma in a prepared cluster. It sets r.recognized if the remote Kyma is the last accepted one
// and is not being deleted.
func (r *session) recognize(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync) error {
	found, err := r.readKyma(ctx, s)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if string(found.UID) == kyma.Status.Remote.UID && found.DeletionTimestamp.IsZero() {
		r.recognized = found
	}
	return nil
}

// isPrepared reports whether an earlier synchronization with this access has found or created everything that the cluster
// needs first, and whether a Kyma was accepted from there that identifies the cluster.
func (r *session) isPrepared(kyma *v1beta2.Kyma) bool {
	return r.access != nil && r.access.Prepared.Load() && desired.Placed(kyma) && desired.IsAccepted(kyma) && kyma.Status.Remote.MovingFrom == nil
}

// notePrepared records the result of a synchronization. After a failure, even of one part, everything is read again.
func (r *session) notePrepared(succeeded bool) {
	if r.access != nil {
		r.access.Prepared.Store(succeeded)
	}
}

// failedInPart reports whether a part of a synchronization failed.
func (r Result) failedInPart() bool {
	return len(r.Faults.With(fault.PartInvalid, fault.Fault{})) > 0
}
