package agents

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
)

// Metadata alone shows whether somebody has changed the Secret since we applied it: the API server takes a field from
// its owner if somebody else changes or removes the field. So the private key is read only by EnsureCertificate.

// Metadata reads the metadata of the agent's Secret in a remote cluster. It returns metadata without a resource
// version if the Secret does not exist.
func Metadata(ctx context.Context, remote client.Reader, namespace string) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := types.NamespacedName{Namespace: namespace, Name: shared.AgentSecret}
	err := remote.Get(ctx, key, found)
	if apierrors.IsNotFound(err) {
		return &metav1.PartialObjectMetadata{TypeMeta: found.TypeMeta, ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the metadata of Secret %s: %w", key, err)
	}
	return found, nil
}

// IsLost reports whether the agent's Secret is missing, or somebody has changed it since EnsureCertificate wrote it
// with these annotations. It returns false for a Secret that is being deleted or is not ours, because that cannot be
// corrected.
func IsLost(found *metav1.PartialObjectMetadata, annotations map[string]string) bool {
	if found.ResourceVersion == "" {
		return true
	}
	return found.DeletionTimestamp.IsZero() && isOurs(found) && !isAsApplied(found, annotations)
}

// isAsApplied reports whether we still own all fields that EnsureCertificate applies.
func isAsApplied(found metav1.Object, annotations map[string]string) bool {
	ours := inventory.AppliedBy(found, shared.FieldManagerLifecycleManager)
	if ours == nil {
		return false
	}
	for _, key := range []string{shared.CertificateKey, shared.PrivateKeyKey, shared.CertificateAuthorityKey} {
		if !ours.Has(fieldpath.MakePathOrDie("data", key)) {
			return false
		}
	}
	for key := range annotations {
		if !ours.Has(fieldpath.MakePathOrDie("metadata", "annotations", key)) {
			return false
		}
	}
	return ours.Has(fieldpath.MakePathOrDie("metadata", "annotations", AnnotationVersion)) &&
		ours.Has(fieldpath.MakePathOrDie("metadata", "labels", shared.LabelManagedBy))
}

// isOurs reports whether a Secret is the agent's, by its label or, if somebody removed the label, by the fields that
// we applied.
func isOurs(found metav1.Object) bool {
	return found.GetLabels()[shared.LabelManagedBy] == shared.ManagedByKyma || inventory.AppliedBy(found, shared.FieldManagerLifecycleManager) != nil
}
