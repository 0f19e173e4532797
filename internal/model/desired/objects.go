package desired

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// NameOf returns the namespace and name of an object, for messages.
func NameOf(object metav1.Object) string { return object.GetNamespace() + "/" + object.GetName() }

// KindOf returns the kind of an object of the catalog, for messages.
func KindOf(object client.Object) string {
	switch object.(type) {
	case *v1beta2.ModuleReleaseMeta:
		return shared.KindModuleReleaseMeta
	case *v1beta2.ModuleTemplate:
		return shared.KindModuleTemplate
	}
	return meta.AsPartialObjectMetadata(object).Kind
}

// Recorded returns the union of two lists of names, sorted and without duplicates.
func Recorded(names, others []string) []string {
	all := slices.Concat(names, others)
	slices.Sort(all)
	return slices.Compact(all)
}
