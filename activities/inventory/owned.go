package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// AppliedBy returns the fields of an object that a field manager applied and still owns; nil if there are none.
func AppliedBy(live metav1.Object, manager string) *fieldpath.Set {
	for _, e := range live.GetManagedFields() {
		if e.Manager != manager || e.Operation != metav1.ManagedFieldsOperationApply || e.FieldsV1 == nil {
			continue
		}
		if set := FieldsIn(&e); !set.Empty() {
			return set
		}
	}
	return nil
}
