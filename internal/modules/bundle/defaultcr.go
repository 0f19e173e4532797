package bundle

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// DefaultCRLabels returns the labels of a default custom resource that we create.
func DefaultCRLabels() map[string]string {
	return map[string]string{shared.LabelWatchedBy: shared.WatchedByKyma, shared.LabelManagedBy: shared.ManagedByKyma}
}

// Place sets the namespace of a custom resource as its kind needs it.
func Place(cr *unstructured.Unstructured, resource kinds.Resource, remoteNamespace string) {
	cr.SetNamespace(objects.NamespaceOf(resource, cr.GetNamespace(), remoteNamespace))
}
