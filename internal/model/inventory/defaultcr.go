package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// RecordOf returns the record of a default custom resource. The uid is empty before the object is created.
func RecordOf(cr *unstructured.Unstructured, uid string) *v1beta2.DefaultCRRecord {
	return &v1beta2.DefaultCRRecord{
		APIVersion: cr.GetAPIVersion(), Kind: cr.GetKind(), Namespace: cr.GetNamespace(), Name: cr.GetName(), UID: uid,
	}
}

// RecordedCR returns the kind and name of a recorded default custom resource.
func RecordedCR(r *v1beta2.DefaultCRRecord) (schema.GroupVersionKind, types.NamespacedName) {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind), types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// MovedOn returns the record of a default custom resource after its module was updated to a version with the default
// custom resource cr. The record gets the API version of cr, because the cluster may no longer serve an older one. A
// record of another kind stays unchanged. Both arguments and the result may be nil.
func MovedOn(recorded *v1beta2.DefaultCRRecord, cr *unstructured.Unstructured) *v1beta2.DefaultCRRecord {
	if recorded == nil || cr == nil || schema.FromAPIVersionAndKind(recorded.APIVersion, recorded.Kind).GroupKind() != cr.GroupVersionKind().GroupKind() {
		return recorded
	}
	moved := *recorded
	moved.APIVersion = cr.GetAPIVersion()
	return &moved
}

// IsRecorded reports whether an object is the default custom resource that we created or adopted. If the record has no
// uid, because only the intent to create the object was recorded, the object must carry our labels.
func IsRecorded(recorded *v1beta2.DefaultCRRecord, cr *metav1.PartialObjectMetadata) bool {
	if recorded == nil || recorded.Name != cr.Name || recorded.Namespace != cr.Namespace {
		return false
	}
	if recorded.UID == "" {
		return CreatedByUs(cr)
	}
	return recorded.UID == string(cr.UID)
}

// CreatedByUs reports whether we created a default custom resource that has no recorded uid yet.
func CreatedByUs(live metav1.Object) bool {
	return live.GetLabels()[shared.LabelWatchedBy] == shared.WatchedByKyma &&
		live.GetLabels()[shared.LabelManagedBy] == shared.ManagedByKyma
}
