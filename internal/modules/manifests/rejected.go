package manifests

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// RecordRejected records the inputs of a reconcile that cannot succeed without a change, so that the sweep does not
// request it again. It returns the error of the reconcile.
func (a *Steps) RecordRejected(ctx context.Context, m *v1beta2.Manifest, failure error) error {
	if fault.Of(failure).Kind != fault.Rejected {
		return failure
	}
	digest := InputsDigest(m)
	_, err := a.WriteStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		s.InputsDigest, s.ObservedGeneration = digest, m.Generation
	})
	if err != nil {
		return err
	}
	return failure
}

// Skipped returns the state that the status already has, with the reason that the Manifest is skipped.
func Skipped(m *v1beta2.Manifest) readiness.Observed {
	o := readiness.Observed{State: m.Status.State, Reason: readiness.ReasonSkipped, Message: shared.OperationSkipped}
	if m.Status.Counts != nil {
		o.Ready, o.Total = m.Status.Counts.Ready, m.Status.Counts.Total
	}
	return o
}

// BeingDeleted returns the state of a Manifest that no longer exists, or about which only a new reconcile may decide.
func BeingDeleted() readiness.Observed {
	return readiness.Observed{
		State: shared.StateDeleting, Reason: readiness.ReasonDeleting, Message: "the module is being removed",
	}
}
