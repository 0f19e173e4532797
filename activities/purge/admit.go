package purge

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Budget limits how many clusters lose modules. *budget.Budget implements it.
type Budget interface {
	Take(ctx context.Context, kyma *v1beta2.Kyma) (fault.Fault, error)
}

// AdmitInput names the Kyma to purge.
type AdmitInput struct {
	Ref kick.Ref `json:"ref"`
}

// AdmitPurge counts a Kyma in the removal budget before any of its modules is purged, even if its orderly removal was
// counted long ago. It returns an error if the budget is used up; the Kyma's workflow then asks again at its next check.
// It is safe to repeat.
func (a *Activities) AdmitPurge(ctx context.Context, in AdmitInput) error {
	if a.Options.Budget == nil {
		return nil
	}
	kyma := &v1beta2.Kyma{}
	err := a.steps.Options.ControlPlane.Get(ctx, in.Ref.Key(), kyma)
	if apierrors.IsNotFound(err) || err == nil && kyma.UID != in.Ref.UID {
		return nil // A Kyma that is gone does not count.
	}
	if err != nil {
		return fmt.Errorf("read Kyma %s before its purge: %w", in.Ref, err)
	}
	held, err := a.Options.Budget.Take(ctx, kyma)
	if err != nil || held.IsZero() {
		return err
	}
	// Return a slow retry, which the workflow handles. A Pending fault would be retried within this activity.
	return &fault.Error{Kind: fault.Transient, Reason: held.Reason, Message: held.Message, Hint: held.Hint, SlowRetry: true}
}
