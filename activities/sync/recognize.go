package sync

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// A change of the catalog makes thousands of synchronizations of which each has to write two or three objects. They need
// not ask each cluster again which one it is, for its namespace, and for our definitions: the remote Kyma's uid, which no
// other cluster has, tells that it is the same cluster and that all of these are there. What of them was altered, and
// not deleted, is found by the next synchronization that has another reason.

// recognize reads the remote Kyma in a cluster that is prepared. It is left in recognized where it is the very one that
// was last accepted, and stays.
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

// isPrepared tells whether a synchronization with this access has found or brought all that the cluster needs first, and
// a Kyma was accepted from there by which the cluster can be recognized.
func (r *session) isPrepared(kyma *v1beta2.Kyma) bool {
	return r.access != nil && r.access.Prepared.Load() && desired.Placed(kyma) && desired.IsAccepted(kyma) && kyma.Status.Remote.MovingFrom == nil
}

// notePrepared remembers how a synchronization has ended. After one that failed, even in part, everything is read again.
func (r *session) notePrepared(succeeded bool) {
	if r.access != nil {
		r.access.Prepared.Store(succeeded)
	}
}

// failedInPart tells whether a part of a synchronization failed.
func (r Result) failedInPart() bool {
	return len(r.Faults.With(fault.PartInvalid, fault.Fault{})) > 0
}
