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

// KymaOf is a Manifest's Kyma, with what an Event needs of it.
func KymaOf(m *v1beta2.Manifest) *v1beta2.Kyma {
	kyma := KymaRefOf(m)
	return &v1beta2.Kyma{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindKyma},
		ObjectMeta: metav1.ObjectMeta{Namespace: kyma.Namespace, Name: kyma.Name, UID: kyma.UID},
	}
}

// KymaRefOf is the Kyma that a Manifest belongs to, as its owner reference has it.
func KymaRefOf(m *v1beta2.Manifest) kick.Ref {
	ref := kick.Ref{Namespace: m.Namespace, Name: m.KymaName()}
	if owner := metav1.GetControllerOf(m); owner != nil && owner.Kind == shared.KindKyma {
		ref.Name, ref.UID = owner.Name, owner.UID
	}
	return ref
}
