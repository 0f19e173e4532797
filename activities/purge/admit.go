package purge

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Budget bounds how many clusters lose modules; *budget.Budget does.
type Budget interface {
	Take(ctx context.Context, kyma *v1beta2.Kyma) (fault.Fault, error)
}

// AdmitInput names the Kyma whose modules are to be purged.
type AdmitInput struct {
	Ref kick.Ref `json:"ref"`
}

// AdmitPurge counts a Kyma in the removal budget before any of its modules is purged, also if its orderly removal counted
// long ago. It returns an error if the budget is used up: the Kyma's workflow asks again with its next check. It is safe to
// repeat.
func (a *Activities) AdmitPurge(ctx context.Context, in AdmitInput) error {
	if a.Options.Budget == nil {
		return nil
	}
	kyma := &v1beta2.Kyma{}
	err := a.steps.Options.ControlPlane.Get(ctx, in.Ref.Key(), kyma)
	if apierrors.IsNotFound(err) || err == nil && kyma.UID != in.Ref.UID {
		return nil // No clusters count for a Kyma that is gone.
	}
	if err != nil {
		return fmt.Errorf("read Kyma %s before its purge: %w", in.Ref, err)
	}
	held, err := a.Options.Budget.Take(ctx, kyma)
	if err != nil || held.IsZero() {
		return err
	}
	// A wait would be retried here; a slow retry is the workflow's.
	return &fault.Error{Kind: fault.Transient, Reason: held.Reason, Message: held.Message, Hint: held.Hint, SlowRetry: true}
}
