package purge

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Budget bounds how many clusters lose modules; *budget.Budget does.
type Budget interface {
	Take(ctx context.Context, kyma *v1beta2.Kyma) (fault.Fault, error)
}

// Sender reaches the workflows of Manifests; *kick.Sender does.
type Sender interface {
	Purge(ctx context.Context, ref kick.Ref, k kick.Kick) error
}

// SendInput names the Manifests of a Kyma whose workflows are to purge.
type SendInput struct {
	// Kyma is the name of the Kyma that they belong to.
	Kyma      string     `json:"kyma,omitempty"`
	Manifests []kick.Ref `json:"manifests"`
}

// SendPurge asks the workflow of each Manifest to force the removal of what remains of its module. It is safe to
// repeat. A purge counts in the removal budget, also if the orderly removal before it counted long ago: nothing of a module
// is forced before this activity asked for it.
func (a *Activities) SendPurge(ctx context.Context, in SendInput) error {
	if err := a.take(ctx, in); err != nil {
		return err
	}
	var failed []error
	for _, ref := range in.Manifests {
		k := kick.Kick{
			Reason: "the grace period is over", Kind: shared.KindOfInstallation(ref.Name), Namespace: ref.Namespace, Name: ref.Name, Urgent: true, Deleting: true,
			Found: kick.Attributes{kick.AttributeKymaName: in.Kyma},
		}
		if err := a.Options.Manifests.Purge(ctx, ref, k); err != nil {
			failed = append(failed, fmt.Errorf("ask Manifest %s to purge: %w", ref, err))
		}
	}
	return errors.Join(failed...)
}

// take counts the Kyma in the removal budget. The error says why it must wait; the workflow asks again with its next check.
func (a *Activities) take(ctx context.Context, in SendInput) error {
	if a.Options.Budget == nil || in.Kyma == "" || len(in.Manifests) == 0 {
		return nil
	}
	kyma := &v1beta2.Kyma{}
	key := client.ObjectKey{Namespace: in.Manifests[0].Namespace, Name: in.Kyma}
	if err := a.steps.Options.ControlPlane.Get(ctx, key, kyma); apierrors.IsNotFound(err) {
		return nil // its Manifests refuse a purge
	} else if err != nil {
		return fmt.Errorf("read Kyma %s before its purge: %w", key, err)
	}
	held, err := a.Options.Budget.Take(ctx, kyma)
	if err != nil || held.IsZero() {
		return err
	}
	// A wait would be retried here; a slow retry is the workflow's.
	return &fault.Error{Kind: fault.Transient, Reason: held.Reason, Message: held.Message, Hint: held.Hint, SlowRetry: true}
}
