package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func RecordOf(cr *unstructured.Unstructured, uid string) *v1beta2.DefaultCRRecord {
	return &v1beta2.DefaultCRRecord{
		APIVersion: cr.GetAPIVersion(), Kind: cr.GetKind(), Namespace: cr.GetNamespace(), Name: cr.GetName(), UID: uid,
	}
}

func RecordedCR(r *v1beta2.DefaultCRRecord) (schema.GroupVersionKind, types.NamespacedName) {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind), types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// IsRecorded tells whether an object is the default custom resource that we made or adopted. One that was
// intended only is ours when it carries our labels.
func IsRecorded(recorded *v1beta2.DefaultCRRecord, cr *metav1.PartialObjectMetadata) bool {
	if recorded == nil || recorded.Name != cr.Name || recorded.Namespace != cr.Namespace {
		return false
	}
	if recorded.UID == "" {
		return CreatedByUs(cr)
	}
	return recorded.UID == string(cr.UID)
}

// CreatedByUs tells whether a default custom resource of which no uid was recorded is the one that we made
// before we could record it.
func CreatedByUs(live metav1.Object) bool {
	return live.GetLabels()[shared.LabelWatchedBy] == shared.WatchedByKyma &&
		live.GetLabels()[shared.LabelManagedBy] == shared.ManagedByKyma
}
