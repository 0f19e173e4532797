package bundle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// isReplaceable reports whether an object may be deleted and created again if it cannot be changed. The object's
// annotation allows it; kinds that hold data need a different value of the annotation. A Namespace or a definition is
// never replaced, because that would delete objects of others.
func isReplaceable(kind schema.GroupKind, object metav1.Object) bool {
	if kinds.IsShared(kind) || kind == kinds.DefinitionKind() || inventory.IsKept(object) {
		return false
	}
	switch object.GetAnnotations()[shared.AnnotationReplace] {
	case shared.ValueTrue:
		return !kinds.HoldsData(kind)
	case shared.ReplaceWithData:
		return true
	}
	return false
}
