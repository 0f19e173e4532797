package removal

import (
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// usesNamespace reports whether one of these Manifests has an object in a namespace, or the namespace itself.
func usesNamespace(manifests []*v1beta2.Manifest, namespace string) bool {
	for _, m := range manifests {
		for _, e := range m.Status.Inventory {
			gvk, name, err := e.Object()
			if err == nil && (name.Namespace == namespace || kinds.IsShared(gvk.GroupKind()) && name.Name == namespace) {
				return true
			}
		}
		if cr := m.Status.DefaultCR; cr != nil && cr.Namespace == namespace {
			return true
		}
	}
	return false
}
