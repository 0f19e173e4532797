package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// RecordOf is the record of a default custom resource; the uid is empty until it was created.
func RecordOf(cr *unstructured.Unstructured, uid string) *v1beta2.DefaultCRRecord {
	return &v1beta2.DefaultCRRecord{
		APIVersion: cr.GetAPIVersion(), Kind: cr.GetKind(), Namespace: cr.GetNamespace(), Name: cr.GetName(), UID: uid,
	}
}

// RecordedCR returns the kind and name of a recorded default custom resource.
func RecordedCR(r *v1beta2.DefaultCRRecord) (schema.GroupVersionKind, types.NamespacedName) {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind), types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// MovedOn is the record of a default custom resource after a version of its module was installed whose own default
// custom resource is this one: with its API version, because an older one may not be served any more. The record of
// another kind stays. It may be nil.
func MovedOn(recorded *v1beta2.DefaultCRRecord, cr *unstructured.Unstructured) *v1beta2.DefaultCRRecord {
	if recorded == nil || cr == nil || schema.FromAPIVersionAndKind(recorded.APIVersion, recorded.Kind).GroupKind() != cr.GroupVersionKind().GroupKind() {
		return recorded
	}
	moved := *recorded
	moved.APIVersion = cr.GetAPIVersion()
	return &moved
}

// IsRecorded tells whether an object is the default custom resource that we created or adopted. Where only the intent to
// create it was recorded, it is ours when it carries our labels.
func IsRecorded(recorded *v1beta2.DefaultCRRecord, cr *metav1.PartialObjectMetadata) bool {
	if recorded == nil || recorded.Name != cr.Name || recorded.Namespace != cr.Namespace {
		return false
	}
	if recorded.UID == "" {
		return CreatedByUs(cr)
	}
	return recorded.UID == string(cr.UID)
}

// CreatedByUs tells whether a default custom resource without a recorded uid is the one that we created before its uid
// was recorded.
func CreatedByUs(live metav1.Object) bool {
	return live.GetLabels()[shared.LabelWatchedBy] == shared.WatchedByKyma &&
		live.GetLabels()[shared.LabelManagedBy] == shared.ManagedByKyma
}
