package status

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/kymas"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// ReleaseKyma removes our finalizers from a Kyma under deletion, if none of its Manifests is left.
func (a *Activities) ReleaseKyma(ctx context.Context, in ReleaseInput) (ReportResult, error) {
	kyma, ownership, err := kymas.Read(ctx, a.ControlPlane, a.Settings, in.Ref)
	if err != nil {
		return ReportResult{}, err
	}
	switch ownership {
	case kymas.Gone, kymas.NotOurs, kymas.Copy:
		return ReportResult{Outcome: OutcomeGone}, nil
	case kymas.Ours, kymas.Skipped:
		return summary(kyma), nil // the Kyma is not being deleted
	case kymas.Deleting:
	}
	left, err := a.Known.AllManifests(ctx, kyma, in.Seen)
	if err != nil {
		return ReportResult{}, err
	}
	if len(left.Own) > 0 {
		result := summary(kyma)
		result.Deleting, result.Outcome = true, OutcomeBlocked
		return result, nil
	}
	if in.Abandoned != "" && a.Purges != nil {
		if err := a.Purges.Abandon(ctx, in.Ref, in.Abandoned); err != nil {
			return ReportResult{}, err
		}
	}
	if err := a.nameOthers(ctx, kyma); err != nil {
		return ReportResult{}, err
	}
	before := kyma.DeepCopy()
	released := controllerutil.RemoveFinalizer(kyma, shared.FinalizerKyma)
	// Earlier generations set a separate finalizer for the purge.
	if controllerutil.RemoveFinalizer(kyma, shared.FinalizerPurge) || released {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := a.ControlPlane.Patch(ctx, kyma, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
		if err != nil && !apierrors.IsNotFound(err) {
			return ReportResult{}, fmt.Errorf("release Kyma %s: %w", in.Ref, err)
		}
	}
	result := summary(kyma)
	result.Deleting, result.Outcome = true, OutcomeReleased
	return result, nil
}

// nameOthers reports whose finalizers keep the Kyma after ours are removed. It runs before the removal, because the Kyma
// is not reconciled afterwards.
func (a *Activities) nameOthers(ctx context.Context, kyma *v1beta2.Kyma) error {
	others := kymas.OtherFinalizers(kyma)
	if len(others) == 0 {
		return nil
	}
	before := kyma.DeepCopy()
	kyma.Status.State = shared.StateDeleting
	kyma.Status.LastOperation = v1beta2.NextLastOperation(kyma.Status.LastOperation, fault.Message(shared.OtherFinalizersPresent(others)), seconds(a.Now())).
		WithHint(hint.OtherFinalizers)
	_, err := a.write(ctx, before, kyma, eventDetails{})
	return err
}
