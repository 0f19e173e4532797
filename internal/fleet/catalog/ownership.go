package catalog

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Owner tells whose the objects of a remote catalog are.
type Owner struct {
	// Mark is that of the Kyma.
	Mark string
	// Own is true in the control plane's own cluster, where only the mark tells a copy from an original.
	Own bool
	// gone are the marks of Kymas that are gone: what was brought for them is the next one's.
	gone map[string]bool
}

// owns tells whether an object was brought for this Kyma, or for one that is gone. Before there were marks,
// the field manager alone said so.
func (o Owner) owns(found *metav1.PartialObjectMetadata) bool {
	value, marked := found.Annotations[desired.AnnotationSyncedFrom]
	if marked {
		return value == o.Mark || o.gone[value] && IsApplied(found)
	}
	return !o.Own && IsApplied(found)
}

// another tells whether an object was brought for another Kyma that shares the namespace: it serves both.
func (o Owner) another(found *metav1.PartialObjectMetadata) bool {
	value, marked := found.Annotations[desired.AnnotationSyncedFrom]
	return marked && value != o.Mark
}

// IsApplied tells whether the catalog's field manager has applied an object: only such are ours to delete
// (docs/contract.md#the-catalog).
func IsApplied(found *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(found.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == shared.FieldManagerCatalog && entry.Operation == metav1.ManagedFieldsOperationApply
	})
}
