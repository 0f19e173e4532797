package manifests

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
)

// Now returns the current time for statuses.
func (a *Steps) Now() metav1.Time { return metav1.NewTime(a.Options.Clock()) }

// ReleaseFormerAgents deletes the chosen Manifests among those that an earlier build created for agents.
func (a *Steps) ReleaseFormerAgents(ctx context.Context, chosen func(*v1beta2.Manifest) bool) error {
	return installations.ReleaseFormers(ctx, a.Options.Fleet, a.Options.ControlPlane, chosen)
}

// IsKymaBeingDeleted reports whether the Manifest's Kyma is missing or being deleted.
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
