package desired

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// KindsText formats kinds without their version for AnnotationAssociatedKinds: `<kind>.<group>`, sorted and separated
// by commas; empty for none.
func KindsText(kinds []v1beta2.GroupVersionKind) string {
	all := lists.Map(kinds, func(kind v1beta2.GroupVersionKind) string {
		return schema.GroupKind{Group: kind.Group, Kind: kind.Kind}.String()
	})
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// AssociatedKinds returns the kinds that may hold data of the module's users, as the module's template names them; none
// if it names none.
func AssociatedKinds(m *v1beta2.Manifest) []schema.GroupKind {
	var kinds []schema.GroupKind
	for text := range strings.SplitSeq(m.Annotations[AnnotationAssociatedKinds], ",") {
		if text != "" {
			kinds = append(kinds, schema.ParseGroupKind(text))
		}
	}
	return kinds
}
