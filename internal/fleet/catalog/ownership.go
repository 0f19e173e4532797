package catalog

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Owner identifies the Kyma that owns objects of a remote catalog.
type Owner struct {
	// Mark is the mark of the Kyma.
	Mark string
	// Own is true in the control plane's own cluster, where only the mark distinguishes a copy from an original.
	Own bool
	// gone holds the marks of Kymas that no longer exist. The next Kyma takes over their objects.
	gone map[string]bool
}

// owns reports whether an object belongs to this Kyma, or to one that no longer exists. Objects from before the
// introduction of marks are recognized by their field manager alone.
func (o Owner) owns(found *metav1.PartialObjectMetadata) bool {
	value, marked := found.Annotations[desired.AnnotationSyncedFrom]
	if marked {
		return value == o.Mark || o.gone[value] && IsApplied(found)
	}
	return !o.Own && IsApplied(found)
}

// another reports whether an object belongs to another Kyma that shares the namespace. The object serves both.
func (o Owner) another(found *metav1.PartialObjectMetadata) bool {
	value, marked := found.Annotations[desired.AnnotationSyncedFrom]
	return marked && value != o.Mark
}

// IsApplied reports whether the catalog's field manager has applied an object. Only those objects may be deleted
// (docs/contract.md#the-catalog).
func IsApplied(found *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(found.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == shared.FieldManagerCatalog && entry.Operation == metav1.ManagedFieldsOperationApply
	})
}
