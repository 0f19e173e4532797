package inventory

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// FieldsIn returns the fields of a managed fields entry. It returns none if the entry cannot be read.
func FieldsIn(e *metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := fieldpath.NewSet()
	if e.FieldsV1 == nil {
		return set
	}
	if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
		return fieldpath.NewSet()
	}
	return set
}

// OwnFields returns the fields that we applied and still own.
func OwnFields(managed []metav1.ManagedFieldsEntry) *fieldpath.Set {
	if e := OwnEntry(managed); e != nil {
		return FieldsIn(e)
	}
	return fieldpath.NewSet()
}

// ScaledByOthers reports whether a workload's replicas were set through its scale subresource, as autoscalers and
// kubectl scale do.
func ScaledByOthers(live metav1.Object) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == subresourceScale && FieldsIn(&e).Has(Replicas())
	})
}

const subresourceScale = "scale"

// Replicas returns the path of a workload's number of replicas.
func Replicas() fieldpath.Path { return fieldpath.MakePathOrDie(kinds.PathSpec, kinds.PathReplicas) }

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
