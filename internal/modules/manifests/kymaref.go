package manifests

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// KymaOf returns a Manifest's Kyma with the fields that an Event needs.
func KymaOf(m *v1beta2.Manifest) *v1beta2.Kyma {
	kyma := KymaRefOf(m)
	return &v1beta2.Kyma{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindKyma},
		ObjectMeta: metav1.ObjectMeta{Namespace: kyma.Namespace, Name: kyma.Name, UID: kyma.UID},
	}
}

// KymaRefOf returns a reference to the Kyma that a Manifest belongs to, from its owner reference.
func KymaRefOf(m *v1beta2.Manifest) kick.Ref {
	ref := kick.Ref{Namespace: m.Namespace, Name: m.KymaName()}
	if owner := metav1.GetControllerOf(m); owner != nil && owner.Kind == shared.KindKyma {
		ref.Name, ref.UID = owner.Name, owner.UID
	}
	return ref
}
