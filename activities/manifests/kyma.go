package manifests

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/installations"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Now is the current time, for statuses.
func (a *Steps) Now() metav1.Time { return metav1.NewTime(a.Options.Clock()) }

// KickKyma notifies the workflow of the Kyma that the Manifest belongs to.
func (a *Steps) KickKyma(ctx context.Context, m *v1beta2.Manifest) error {
	owner := metav1.GetControllerOf(m)
	if owner == nil || owner.Kind != shared.KindKyma {
		return nil
	}
	ref := kick.Ref{Namespace: m.Namespace, Name: owner.Name, UID: owner.UID}
	err := a.Options.Kymas.OpenKyma(ctx, ref, kick.Kick{
		// The reason is the label of a metric, so it has no names. What has settled is shown at once; until then, the
		// Kyma's workflow limits the rate of its reconciles.
		Reason: "Manifest is " + orUnknown(m.Status.State), Urgent: m.Status.Settled, Kind: shared.KindOfInstallation(m.Name),
		Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion,
	})
	if err != nil {
		return fmt.Errorf("notify Kyma %s of Manifest %s: %w", ref, m.Name, err)
	}
	return nil
}

func orUnknown(state shared.State) string {
	if state == shared.StateUnknown {
		return "in an unknown state"
	}
	return string(state)
}

// ReleaseFormerAgents deletes those Manifests that an earlier build made for agents and that are chosen.
func (a *Steps) ReleaseFormerAgents(ctx context.Context, chosen func(*v1beta2.Manifest) bool) error {
	return installations.ReleaseFormers(ctx, a.Options.Fleet, a.Options.ControlPlane, chosen)
}

// IsKymaBeingDeleted tells whether the Manifest's Kyma is gone or being deleted.
func (a *Steps) IsKymaBeingDeleted(ctx context.Context, m *v1beta2.Manifest) (bool, error) {
	owner := metav1.GetControllerOf(m)
	if owner == nil || owner.Kind != shared.KindKyma {
		return true, nil
	}
	kyma := &metav1.PartialObjectMetadata{}
	kyma.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(shared.KindKyma))
	err := a.Options.ControlPlane.Get(ctx, types.NamespacedName{Namespace: m.Namespace, Name: owner.Name}, kyma)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read Kyma %s/%s: %w", m.Namespace, owner.Name, err)
	}
	return kyma.UID != owner.UID || !kyma.DeletionTimestamp.IsZero(), nil
}

// requestReconcile has the Kyma's workflow reconcile the whole Kyma. The reason is the label of a metric, so it has no
// names.
func (a *Steps) requestReconcile(ctx context.Context, m *v1beta2.Manifest, reason string) error {
	ref := KymaRefOf(m)
	err := a.Options.Kymas.OpenKyma(ctx, ref, kick.Kick{
		Reason: reason, Urgent: true, Whole: true, Kind: shared.KindOfInstallation(m.Name), Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion,
	})
	if err != nil {
		return fmt.Errorf("notify Kyma %s that Manifest %s is not as planned: %w", ref, m.Name, err)
	}
	return nil
}
